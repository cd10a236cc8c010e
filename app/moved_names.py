"""Modules under the names that they had before, for one release: programs that import them still run.

The guide to the client told others to import ``app.gateway``, and scripts of operators import modules of the app. They
get the same modules, and a DeprecationWarning that says where they are now.
"""

import sys
import warnings
from collections.abc import Mapping
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType

MOVED: Mapping[str, str] = {
    "app.amounts": "integration_base.amounts",
    "app.connection_failures": "integration_base.connection_failures",
    "app.connection_remedies": "app.rules.connection_remedies",
    "app.dashboard": "app.web.dashboard",
    "app.dashboard.navigation": "app.web.dashboard.renderer",
    "app.dashboard.payments.payment_view": "app.web.dashboard.payments.page",
    "app.dashboard.payments.refunds": "app.web.dashboard.payments.page",
    "app.db": "app.store",
    "app.db.claim_on_write": "app.store.committed",
    "app.doctor": "app.ops.doctor",
    "app.exact_json": "integration_base.exact_json",
    "app.framing": "app.web.framing",
    "app.gateway": "gateway_client",
    "app.gateway.models.checkout": "gateway_client.models.payments",
    "app.logs": "app.ops.logs",
    "app.monitoring": "app.ops.monitoring",
    "app.outbound": "integration_base.outbound",
    "app.payments.accounts": "app.flows.accounts",
    "app.payments.accounts.dialect_options": "app.rules.accounts.dialect_options",
    "app.payments.accounts.option": "app.rules.accounts.option",
    "app.payments.accounts.option_values": "app.rules.accounts.option_values",
    "app.payments.accounts.options": "app.rules.accounts.options",
    "app.payments.accounts.readers": "app.rules.accounts.readers",
    "app.payments.alerts": "app.reports.alerts",
    "app.payments.app_lifecycle": "app.flows.app_lifecycle",
    "app.payments.cards": "app.rules.cards",
    "app.payments.cards.keys": "app.flows.card_keys",
    "app.payments.cards.saved": "app.flows.saved_cards",
    "app.payments.core": "app.rules",
    "app.payments.core.posting": "app.rules.decision_context",
    "app.payments.decisions": "app.rules.decisions",
    "app.payments.decisions.earlier_report": "app.rules.decisions.delivery",
    "app.payments.operations": "app.flows",
    "app.payments.reconciliation": "app.flows.reconciliation",
    "app.payments.requests": "app.rules.requests",
    "app.payments.services": "app.services",
    "app.payments.split": "app.rules.split",
    "app.payments.staff": "app.reports",
    "app.payments.staff.actions": "app.flows.staff.actions",
    "app.payments.staff.look_ups": "app.flows.staff.look_ups",
    "app.payments.staff.manual_resolution": "app.flows.staff.manual_resolution",
    "app.payments.staff.payouts": "app.flows.staff.payouts",
    "app.payments.staff.subscription": "app.flows.staff.subscription",
    "app.payments.sync": "app.flows",
    "app.payments.webhooks": "app.flows.webhooks",
    "app.saleor": "saleor_app_sdk",
    "app.sandbox": "gateway_client.sandbox",
    "app.sandbox.processes": "app.demo.processes",
    "app.sandbox.shop": "app.demo.shop",
    "app.sandbox.stack": "app.demo.stack",
    "app.security_headers": "app.web.security_headers",
    "app.server_clock": "integration_base.server_clock",
    "app.shopper": "app.web.shopper",
    "app.static": "app.web.static",
    "app.telemetry": "integration_base.telemetry",
    "app.templates": "app.web.templates",
    "app.validation": "app.i18n.validation",
}
"""Where each module and what is below it is now. The longest name that fits counts."""
_OF_THE_APP = "app."
_DIVIDED = "app.payments"
"""What was below it is in several rooms."""


def new_name_of(name: str) -> str | None:
    """Return where the module of that name is now; None if it has not moved."""
    old = name
    while old not in MOVED:
        old, _, _ = old.rpartition(".")
        if not old:
            return None
    return MOVED[old] + name.removeprefix(old)


class MovedModuleFinder(MetaPathFinder, Loader):
    """Imports a module that has moved from where it is now.

    It is asked before all others: they would find a module below one that has moved, and import it a second time.
    """

    def find_spec(self, name: str, *_: object) -> ModuleSpec | None:
        """Return a spec for the old name of a module that has moved.

        Others than the app's are dismissed first: libraries try to import what is not installed, some at each request.
        """
        has_moved = name.startswith(_OF_THE_APP) and (name == _DIVIDED or new_name_of(name) is not None)
        return ModuleSpec(name, self, is_package=True) if has_moved else None

    def exec_module(self, module: ModuleType) -> None:
        """Let the name be that of the module which has moved. Raises ModuleNotFoundError."""
        new_name = new_name_of(module.__name__)
        if new_name is not None:
            sys.modules[module.__name__] = import_module(new_name)
            warnings.warn(f"{module.__name__} is now {new_name}", DeprecationWarning, stacklevel=2)
