"""Modules that have moved into packages, under their old names, for one release: programs that import them still run.

The guide to the client told others to import ``app.gateway``. Whoever does so gets the same objects, and a
DeprecationWarning that says where they are now.
"""

import warnings
from collections.abc import Mapping
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType

MOVED: Mapping[str, str] = {
    "app.gateway": "gateway_client",
    "app.saleor": "saleor_app_sdk",
    "app.sandbox.processes": "app.demo.processes",
    "app.sandbox.shop": "app.demo.shop",
    "app.sandbox.stack": "app.demo.stack",
    "app.sandbox": "gateway_client.sandbox",
    "app.amounts": "integration_base.amounts",
    "app.connection_failures": "integration_base.connection_failures",
    "app.exact_json": "integration_base.exact_json",
    "app.outbound": "integration_base.outbound",
    "app.telemetry": "integration_base.telemetry",
}
"""Where each module and what is below it is now. The longer of two names that fit comes first."""


def new_name_of(name: str) -> str | None:
    """Return where the module of that name is now; None if it has not moved."""
    for old, new in MOVED.items():
        if name == old or name.startswith(f"{old}."):
            return new + name.removeprefix(old)
    return None


class MovedModuleFinder(MetaPathFinder, Loader):
    """Imports a module that has moved from where it is now. Asked only for names that are found nowhere else."""

    def find_spec(self, name: str, *_: object) -> ModuleSpec | None:
        """Return a spec for the old name of a module that has moved."""
        return ModuleSpec(name, self, is_package=True) if new_name_of(name) else None

    def exec_module(self, module: ModuleType) -> None:
        """Let every name of the module be that of the module which has moved. Raises ModuleNotFoundError."""
        new_name = new_name_of(module.__name__) or ""
        moved = import_module(new_name)
        warnings.warn(f"{module.__name__} is now {new_name}", DeprecationWarning, stacklevel=2)
        module.__dict__["__getattr__"] = lambda name: getattr(moved, name)
        module.__dict__["__all__"] = getattr(moved, "__all__", [name for name in vars(moved) if name[0] != "_"])
