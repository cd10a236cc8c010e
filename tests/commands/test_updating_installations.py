"""``installations update``: what a Saleor has of an earlier release, at a Saleor over HTTP."""

from collections.abc import AsyncIterator

import pytest

from app.services import Services
from app.store.installations import OpenInstallation
from app.web.dashboard.order.widget import ORDER_WIDGET
from saleor_app_sdk.testing import FakeSaleor, SaleorSettings, serving
from saleor_app_sdk_tests.testing.stub import Stub, open_stub
from saleor_app_sdk_tests.testing.test_migration import webhook
from tests.commands.conftest import SALEOR, Shell, install, one_database

CHARGE, OLD = "TRANSACTION_CHARGE_REQUESTED", "TRANSACTION_CANCELATION_REQUESTED"


@pytest.fixture
async def saleor() -> AsyncIterator[FakeSaleor]:
    async with serving(SaleorSettings(version="3.22.67")) as running:
        yield running.saleor


@pytest.fixture
async def stub() -> AsyncIterator[Stub]:
    """The app's earlier release, at another address."""
    async with open_stub() as stub:
        stub.manifest |= {
            "id": "gateway.payments.app",
            "webhooks": [webhook(stub.url, CHARGE), webhook(stub.url, OLD) | {"isActive": False}],
            "extensions": [],
        }
        yield stub


@pytest.fixture
async def there(services: Services, saleor: FakeSaleor, stub: Stub) -> OpenInstallation:
    """A Saleor that installed it when it was a 3.21 itself."""
    done = await saleor.install(stub.manifest_url)
    await services.installations.save(
        saleor_api_url=saleor.api_url,
        saleor_domain="shop",
        schema_version="3.21",
        app_id=done.app_id or "",
        token=done.token or "",
        jwks=None,
    )
    found = await services.installations.find(saleor.api_url)
    assert found is not None
    return found


async def test_a_saleor_is_brought_up_to_this_release(
    shell: Shell, services: Services, saleor: FakeSaleor, stub: Stub, there: OpenInstallation
) -> None:
    looked = await shell("installations", "update", "--dry-run", "--json")
    [one] = looked.json
    assert (looked.status, one["saleor"], one["saleor_version"]) == (0, saleor.api_url, "3.22.67")
    assert (one["done"], one["not_done"]) == ([], [])
    differing = {
        (difference["part"], difference["state"], difference["name"]): difference["remedy"]
        for difference in one["left"]
    }
    assert differing["webhook", "changed", CHARGE] == "update"
    assert differing["webhook", "missing", "TRANSACTION_INITIALIZE_SESSION"] == "update"
    assert differing["extension", "missing", ORDER_WIDGET.label] == "reinstall"
    assert differing["address", "changed", services.addresses.base_url + "/"] == "reinstall"
    changed = next(difference for difference in one["left"] if difference["name"] == OLD)
    assert changed["aspects"] == ["active", "address", "query"]

    said = await shell("installations", "update")
    assert (said.status, said.err) == (0, "")
    assert f"{saleor.api_url}, Saleor 3.22.67" in said.out
    assert f"Done: The webhook for {CHARGE} is outdated: its address, its query." in said.out
    left = f"The Dashboard does not show the app's “{ORDER_WIDGET.label}”. Only a new installation changes this"
    assert f"Not changed: {left}" in said.out

    [one] = (await shell("installations", "update", "--saleor", saleor.api_url, "--json")).json
    assert (one["done"], one["not_done"]) == ([], [])
    assert {difference["remedy"] for difference in one["left"]} == {"reinstall"}
    [listed] = (await shell("installations", "list", "--json")).json
    assert listed["saleor_version"] == "3.22.67", "it has said so itself, and nobody installed the app anew"


@one_database
async def test_what_saleor_refuses_and_one_that_does_not_answer(
    shell: Shell, services: Services, saleor: FakeSaleor, there: OpenInstallation
) -> None:
    await install(services)  # one that nobody serves
    await saleor.set_faults(refuse_token=True)
    said = await shell("installations", "update", "--json")
    assert said.status == 1
    assert {store["saleor"] for store in said.json} == {saleor.api_url, SALEOR}
    assert all(store["failed"] for store in said.json)
    text = await shell("installations", "update")
    assert text.status == 1
    assert f"{saleor.api_url}: the request failed." in text.out


@one_database
async def test_nobody_has_installed_the_app(shell: Shell, services: Services) -> None:
    (await shell("installations", "update")).failed("no store has installed this app")
    (await shell("installations", "update", "--saleor", SALEOR)).failed("no store has installed this app")
