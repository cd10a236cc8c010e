"""``doctor`` compares what a Saleor has of the app with this release, and names what mends it."""

from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from app.bootstrap import open_saleor
from app.ops.doctor.drift_messages import difference_message
from app.store.installations import OpenInstallation
from app.web.dashboard.order.widget import ORDER_WIDGET
from saleor_app_sdk.drift import Aspect, Difference, Part, State
from saleor_app_sdk.graphql import SaleorClient
from saleor_app_sdk.installed_app import InstalledWebhook, fetch_app_in_saleor
from saleor_app_sdk.testing import SaleorSettings
from tests.commands.conftest import Shell, one_database
from tests.doctor.conftest import DoctorEnvironment, open_doctor_environment

CHARGE, REFUND = "TRANSACTION_CHARGE_REQUESTED", "TRANSACTION_REFUND_REQUESTED"
OLD_QUERY = "subscription { event { ... on TransactionRefundRequested { __typename version } } }"


@pytest.fixture
async def client(around: DoctorEnvironment) -> AsyncIterator[SaleorClient]:
    async with open_saleor(around.stack.settings) as client:
        yield client


async def installation(around: DoctorEnvironment) -> OpenInstallation:
    (found,) = await around.services.installations.all()
    return found


async def webhooks(around: DoctorEnvironment, client: SaleorClient) -> Mapping[str, InstalledWebhook]:
    """Return what a Saleor has, by event."""
    found = (await fetch_app_in_saleor(client, await installation(around))).app.webhooks or ()
    return {event: webhook for webhook in found for event in webhook.events}


async def change(around: DoctorEnvironment, client: SaleorClient, event: str, **changed: Any) -> None:
    """Let a webhook be as another release, or staff, have left it."""
    hook = (await webhooks(around, client))[event]
    asked = {"id": hook.id, "input": changed}
    answer = await client.execute(await installation(around), "webhook_update", asked)
    assert answer["webhookUpdate"]["errors"] == []


async def delete(around: DoctorEnvironment, client: SaleorClient, event: str) -> None:
    hook = (await webhooks(around, client))[event]
    await client.execute(await installation(around), "webhook_delete", {"id": hook.id})


async def create(around: DoctorEnvironment, client: SaleorClient, address: str, event: str = REFUND) -> None:
    entry = {"name": "another", "targetUrl": address, "query": OLD_QUERY, "isActive": True, "syncEvents": [event]}
    answer = await client.execute(await installation(around), "webhook_create", {"input": entry})
    assert answer["webhookCreate"]["errors"] == []


async def of(around: DoctorEnvironment, check: str) -> Sequence[tuple[str, str, str | None]]:
    """Return level, words and remedy of what is found of one subject."""
    return [
        (finding["level"], finding["what"], finding["to_do"])
        for finding in await around.findings()
        if finding["check"] == check
    ]


async def test_drift_is_found_mended_by_the_command_and_fine_again(
    around: DoctorEnvironment, client: SaleorClient
) -> None:
    await delete(around, client, CHARGE)
    await change(around, client, REFUND, query=OLD_QUERY)
    found = await of(around, "webhooks")
    assert [(level, what) for level, what, _ in found] == [
        ("error", f"Saleor does not notify the app of {CHARGE}: the webhook is missing."),
        ("warning", f"The webhook for {REFUND} is outdated: its query."),
    ]
    command = f"saleor-gateway installations update --saleor {around.saleor.api_url}"
    assert all(remedy and command in remedy for *_, remedy in found)
    told = await Shell(around.environment)("doctor")
    assert told.status == 1
    assert command in " ".join(told.out.split())

    done = await Shell(around.environment)(*command.split()[1:])
    assert done.status == 0, done
    assert await of(around, "webhooks") == [("fine", "The webhooks match this release.", None)]
    assert await around.faults() == {}


@one_database
@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"isActive": False}, "it is switched off."),
        ({"isActive": False, "query": OLD_QUERY}, "it is switched off, its query."),
    ],
)
async def test_a_webhook_that_brings_nothing(
    around: DoctorEnvironment, client: SaleorClient, changed: Mapping[str, Any], words: str
) -> None:
    await change(around, client, REFUND, **changed)
    assert await around.faults() == {"error webhooks": f"The webhook for {REFUND} is outdated: {words}"}


@one_database
async def test_a_webhook_without_which_the_app_finds_out_later(around: DoctorEnvironment, client: SaleorClient) -> None:
    """Stores that have installed an earlier release lack it, and nothing fails there."""
    await delete(around, client, "APP_DELETED")
    assert await around.faults() == {
        "warning webhooks": "Saleor does not notify the app of APP_DELETED: the webhook is missing."
    }


@one_database
async def test_webhooks_too_many(around: DoctorEnvironment, client: SaleorClient) -> None:
    await create(around, client, "https://old.example.com/api/webhooks/transaction-refund-requested")
    assert await around.faults() == {
        "warning webhooks": f"Saleor notifies the app of {REFUND} twice: there is another webhook."
    }


@one_database
async def test_a_webhook_that_is_somebody_elses_is_told_and_no_fault(
    around: DoctorEnvironment, client: SaleorClient
) -> None:
    await create(around, client, "https://log.example.com/hook")
    assert await around.faults() == {}
    assert [webhook[:2] for webhook in await of(around, "webhooks")] == [
        ("fine", "The webhooks match this release."),
        ("fine", "Somebody has given the app a webhook that leads to https://log.example.com/hook."),
    ]


@one_database
async def test_a_permission_that_was_not_granted_and_one_too_many(around: DoctorEnvironment) -> None:
    await around.saleor.uninstall()
    await around.saleor.install(f"{around.stack.app.url}/api/manifest", permissions=["MANAGE_ORDERS"])
    found = await of(around, "permissions")
    remedy = "Change it in the Dashboard: Extensions, the app, its permissions."
    assert found == [
        ("error", "The app lacks the permission HANDLE_PAYMENTS.", remedy),
        ("warning", "The app has the permission MANAGE_ORDERS, which it does not need.", remedy),
    ]


@one_database
async def test_a_saleor_that_was_upgraded_shows_what_it_could_not_before(tmp_path: Path, database_url: str) -> None:
    async with open_doctor_environment(tmp_path, database_url, saleor=SaleorSettings(version="3.21.69")) as around:
        assert await around.faults() == {}
        await around.saleor.upgrade("3.22.67")
        found = await of(around, "extensions")
        remedy = "Remove the app in the Dashboard, and install it again: nothing is lost."
        assert ("warning", f"The Dashboard does not show the app's “{ORDER_WIDGET.label}”.", remedy) in found


@one_database
async def test_an_app_that_has_moved(around: DoctorEnvironment) -> None:
    """Its own settings name another address than the one at which it was installed."""
    (port,) = around.stack.app.url.split(":")[2:]
    moved = f"http://localhost:{port}"
    found = [finding for finding in await around.findings(APP_BASE_URL=moved) if finding["level"] != "fine"]
    assert [(finding["level"], finding["check"], finding["what"]) for finding in found] == [
        ("error", "webhooks", f"Webhooks lead to an address other than {moved}."),
        ("error", "extensions", f"The Dashboard opens the app at an address other than {moved}."),
    ]
    assert "If it does not, correct APP_BASE_URL first." in found[0]["to_do"]


@one_database
async def test_a_saleor_that_does_not_tell(around: DoctorEnvironment) -> None:
    await around.saleor.set_faults(graphql_status=503)
    assert list(await around.faults()) == ["error saleor"], "it is said once"


@pytest.mark.parametrize(
    "difference",
    [
        *(Difference(Part.WEBHOOK, State.CHANGED, CHARGE, (aspect,)) for aspect in Aspect),
        Difference(Part.WEBHOOK, State.FOREIGN, "https://log.example.com/saleor"),
    ],
)
def test_message_names_the_event_or_the_address_of_a_webhook(difference: Difference) -> None:
    assert difference.name in difference_message(difference)
