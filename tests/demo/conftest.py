"""The harness of the sandbox's own tests."""

from gateway_client_tests.sandbox.conftest import harness

__all__ = ["harness"]
