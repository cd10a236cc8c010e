"""The sandbox's own endpoints under `/_sandbox`, which no real gateway has, and the client for them."""

from gateway_client.sandbox.control.client import SandboxControl, SandboxRefusedError

__all__ = ["SandboxControl", "SandboxRefusedError"]
