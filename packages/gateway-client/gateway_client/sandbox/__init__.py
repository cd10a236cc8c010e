"""A stand-in for the payment gateway: it serves the gateway interface over HTTP, with test cards and no money.

`running_sandbox(settings)` runs it in a test, `SandboxControl` controls it; `create_sandbox(settings)` creates the
application. It is separate from the client: they share only how webhooks are signed and how exact numbers are
serialized. It needs the extra: `pip install 'gateway-client[sandbox]'`.

A program imports every name from here; each is loaded from its module on first access.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gateway_client.sandbox.application import create_sandbox
    from gateway_client.sandbox.control.client import SandboxControl, SandboxRefusedError
    from gateway_client.sandbox.scripting import FaultRule, WebhookRule
    from gateway_client.sandbox.server import PortNotFreeError, running_sandbox
    from gateway_client.sandbox.settings import Behaviour, PointOfSale, SandboxSettings

__all__ = [
    "Behaviour",
    "FaultRule",
    "PointOfSale",
    "PortNotFreeError",
    "SandboxControl",
    "SandboxRefusedError",
    "SandboxSettings",
    "WebhookRule",
    "create_sandbox",
    "running_sandbox",
]

_MODULES = {
    **dict.fromkeys(("Behaviour", "PointOfSale", "SandboxSettings"), "settings"),
    **dict.fromkeys(("FaultRule", "WebhookRule"), "scripting"),
    **dict.fromkeys(("PortNotFreeError", "running_sandbox"), "server"),
    **dict.fromkeys(("SandboxControl", "SandboxRefusedError"), "control.client"),
    "create_sandbox": "application",
}


if not TYPE_CHECKING:  # a type checker would take every name for defined

    def __getattr__(name: str) -> object:
        if name not in _MODULES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        value = getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
