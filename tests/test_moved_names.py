"""Programs that import a module by the name it had before the packages were cut out get the same objects."""

import sys
from importlib import import_module

import pytest

from app.moved_names import MOVED, new_name_of


@pytest.mark.parametrize(
    ("old", "new", "name"),
    [
        ("app.gateway", "gateway_client", "GatewayClient"),
        ("app.gateway.signature", "gateway_client.signature", "sign"),
        ("app.gateway.models.checkout", "gateway_client.models.payments", "Checkout"),
        ("app.saleor.testing.views", "saleor_app_sdk.testing.views", "NewCheckout"),
        ("app.sandbox.settings", "gateway_client.sandbox.settings", "PointOfSale"),
        ("app.sandbox.processes", "app.demo.processes", "free_port"),
        ("app.exact_json", "integration_base.exact_json", "loads"),
        ("app.db.tables.payments", "app.store.tables.payments", "Payment"),
        ("app.db.tables", "app.store.tables", "State"),
        ("app.db.claim_on_write", "app.store.committed", "claims_of"),
        ("app.dashboard.navigation", "app.web.dashboard.renderer", "visible_places"),
        ("app.dashboard.payments.refunds", "app.web.dashboard.payments.page", "refund_rows"),
        ("app.payments.decisions.earlier_report", "app.rules.decisions.delivery", "FoundInHistory"),
        ("app.payments.core.mapper", "app.rules.mapper", "Transition"),
        ("app.payments.staff.money", "app.reports.money", "read_money"),
        ("app.payments.staff.actions", "app.flows.staff.actions", "request_action"),
        ("app.payments.sync.notifications", "app.flows.notifications", "receive"),
    ],
)
@pytest.mark.filterwarnings("ignore:app[.]:DeprecationWarning")  # of the modules on the way
def test_a_module_is_found_by_its_old_name(old: str, new: str, name: str) -> None:
    assert new_name_of(old) == new
    assert import_module(old) is import_module(new)
    assert hasattr(import_module(old), name)


def test_whoever_uses_an_old_name_is_told_the_new_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "app.outbound", raising=False)
    with pytest.warns(DeprecationWarning, match=r"^app\.outbound is now integration_base\.outbound$"):
        import_module("app.outbound")


@pytest.mark.parametrize("name", ["app.nowhere", "app.gatewayed", "app.sandbox.nowhere"])
@pytest.mark.filterwarnings("ignore:app[.]:DeprecationWarning")  # of the modules on the way
def test_what_has_never_been_there_is_not_found(name: str) -> None:
    with pytest.raises(ModuleNotFoundError):
        import_module(name)


@pytest.mark.parametrize("new", MOVED.values())
def test_everything_that_moved_is_somewhere(new: str) -> None:
    assert import_module(new).__name__ == new


@pytest.mark.parametrize(
    ("module", "name"),
    [
        ("tests.conftest", "Clock"),
        ("tests.loopback", "Reply"),
        ("tests.loopback", "json_reply"),
        ("tests.payments.fake_gateway", "FakeGateway"),
        ("tests.payments.fake_gateway", "open_fake_gateway"),
        ("tests.payments.fake_gateway", "operation"),
        ("tests.payments.fake_gateway", "payment"),
        ("tests.payments.fake_gateway", "refusal_reply"),
        ("tests.payments.shop", "Shop"),
        ("tests.payments.shop", "open_shop"),
        ("tests.payments.shop", "signed_notification"),
        ("tests.payments.shop", "source_object"),
        ("tests.payments.alert_cases", "subjects"),
        ("tests.journeys.stack", "open_stack"),
    ],
)
def test_a_script_that_plays_a_case_finds_the_tests_kit_where_it_was(module: str, name: str) -> None:
    assert hasattr(import_module(module), name)
