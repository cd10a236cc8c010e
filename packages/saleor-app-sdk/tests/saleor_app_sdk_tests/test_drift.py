"""What a Saleor has of the app, compared with what this release would have installed. Nobody is asked anything."""

from dataclasses import replace
from typing import Any

import httpx2
import pytest

from integration_base_tests.clock import Clock
from saleor_app_sdk.app import SaleorApp
from saleor_app_sdk.drift import Aspect, Difference, Part, Remedy, State, find_drift
from saleor_app_sdk.installed_app import InstalledApp
from saleor_app_sdk.versions import Version
from saleor_app_sdk_tests.fake_saleor import InMemoryStore
from saleor_app_sdk_tests.served_app import make_app
from saleor_app_sdk_tests.test_manifest import WIDGET

CHARGE = "TRANSACTION_CHARGE_REQUESTED"


@pytest.fixture
def app(store: InMemoryStore, http: httpx2.AsyncClient, clock: Clock) -> SaleorApp:
    made = make_app(store, http, clock)
    made.add_widget(WIDGET)
    return made


def as_saleor_has_it(manifest: dict[str, Any]) -> dict[str, Any]:
    """Return the app as Saleor shows it that has installed this very manifest."""
    return {
        "id": "QXBwOjE=",
        "identifier": manifest["id"],
        "version": manifest["version"],
        "appUrl": manifest["appUrl"],
        "permissions": [{"code": code} for code in manifest["permissions"]],
        "webhooks": [
            {
                "id": f"webhook-{number}",
                "name": webhook["name"],
                "targetUrl": webhook["targetUrl"],
                "isActive": webhook["isActive"],
                "subscriptionQuery": webhook["query"],
                "syncEvents": [{"eventType": event} for event in webhook.get("syncEvents", ())],
                "asyncEvents": [{"eventType": event} for event in webhook.get("asyncEvents", ())],
            }
            for number, webhook in enumerate(manifest["webhooks"])
        ],
        "extensions": [
            {
                "label": extension["label"],
                "url": extension["url"],
                "mountName": extension["mount"],
                "targetName": extension["target"],
                "permissions": [{"code": code} for code in extension["permissions"]],
            }
            for extension in manifest["extensions"]
        ],
    }


def hook(there: dict[str, Any], event: str = CHARGE) -> dict[str, Any]:
    found: dict[str, Any] = next(
        webhook for webhook in there["webhooks"] if {"eventType": event} in webhook["syncEvents"]
    )
    return found


def compared(app: SaleorApp, there: dict[str, Any], version: Version = (3, 23)) -> list[Difference]:
    return find_drift(app.manifest(version), InstalledApp.model_validate(there))


@pytest.mark.parametrize("version", [(3, 21), (3, 22), (3, 23)])
def test_what_was_installed_by_this_release_does_not_differ(app: SaleorApp, version: Version) -> None:
    assert compared(app, as_saleor_has_it(app.manifest(version)), version) == []


@pytest.mark.parametrize(
    ("change", "aspects"),
    [
        ({"isActive": False}, (Aspect.ACTIVE,)),
        ({"targetUrl": "https://old.example.com/api/webhooks/transaction-charge-requested"}, (Aspect.ADDRESS,)),
        ({"subscriptionQuery": "subscription { event { issuedAt } }"}, (Aspect.QUERY,)),
        ({"subscriptionQuery": "no GraphQL {"}, (Aspect.QUERY,)),
        ({"subscriptionQuery": None}, (Aspect.QUERY,)),
        ({"asyncEvents": [{"eventType": "ORDER_CREATED"}]}, (Aspect.EVENTS,)),
    ],
)
def test_a_webhook_of_an_earlier_release_is_brought_up(
    app: SaleorApp, change: dict[str, Any], aspects: tuple[Aspect, ...]
) -> None:
    there = as_saleor_has_it(app.manifest((3, 23)))
    hook(there).update(change)
    [difference] = compared(app, there)
    assert (difference.part, difference.state, difference.name) == (Part.WEBHOOK, State.CHANGED, CHARGE)
    assert difference.aspects == aspects
    assert difference.webhook_id == hook(there)["id"]
    assert difference.remedy is Remedy.UPDATE


def test_blanks_and_comments_of_a_query_are_no_difference(app: SaleorApp) -> None:
    there = as_saleor_has_it(app.manifest((3, 23)))
    hook(there)["subscriptionQuery"] = "# as it was\n" + hook(there)["subscriptionQuery"].replace("\n", "\n\n  ")
    assert compared(app, there) == []


def test_a_webhook_that_is_missing_there_twice_or_left_over(app: SaleorApp) -> None:
    there = as_saleor_has_it(app.manifest((3, 23)))
    old = hook(there)
    there["webhooks"].remove(old)
    gone = [{"eventType": "TRANSACTION_ITEM_METADATA_UPDATED"}]
    left_over = "https://old.example.com/pay/api/webhooks/transaction-item-metadata-updated"
    refund = hook(there, "TRANSACTION_REFUND_REQUESTED")
    second = {**refund, "id": "webhook-x", "targetUrl": refund["targetUrl"].replace("https://", "https://old.")}
    there["webhooks"] = [
        second,  # the one with the right address stays, whichever is the first
        *there["webhooks"],
        {**old, "id": "webhook-y", "targetUrl": left_over, "syncEvents": [], "asyncEvents": gone},
    ]
    found = compared(app, there)
    assert [(difference.state, difference.name, difference.webhook_id) for difference in found] == [
        (State.MISSING, CHARGE, None),
        (State.REPEATED, "TRANSACTION_REFUND_REQUESTED", "webhook-x"),
        (State.LEFT_OVER, "TRANSACTION_ITEM_METADATA_UPDATED", "webhook-y"),
    ]
    assert {difference.remedy for difference in found} == {Remedy.UPDATE}


def test_what_somebody_else_has_hung_on_the_app_is_left_alone(app: SaleorApp) -> None:
    """A log's webhook for the same event: taking it for an old one of ours would take it away from whoever made it."""
    there = as_saleor_has_it(app.manifest((3, 23)))
    there["webhooks"].insert(0, {**hook(there), "id": "webhook-z", "targetUrl": "https://log.example.com/saleor"})
    [difference] = compared(app, there)
    assert (difference.state, difference.remedy) == (State.FOREIGN, Remedy.NOTHING)


def test_a_saleor_that_was_upgraded_lacks_what_the_older_one_did_not_know(app: SaleorApp) -> None:
    there = as_saleor_has_it(app.manifest((3, 21)))
    found = compared(app, there, (3, 23))
    assert [(difference.part, difference.state, difference.name, difference.remedy) for difference in found] == [
        (Part.WEBHOOK, State.CHANGED, "TRANSACTION_REFUND_REQUESTED", Remedy.UPDATE),
        (Part.WEBHOOK, State.MISSING, "CUSTOMER_DELETED", Remedy.UPDATE),
        (Part.WEBHOOK, State.MISSING, "APP_DELETED", Remedy.UPDATE),
        (Part.WEBHOOK, State.MISSING, "APP_STATUS_CHANGED", Remedy.UPDATE),
        (Part.EXTENSION, State.MISSING, "Payments", Remedy.REINSTALL),
    ]


@pytest.mark.parametrize(
    ("change", "aspects"),
    [
        ({"url": "https://old.example.com/widget"}, (Aspect.ADDRESS,)),
        ({"label": "Money"}, (Aspect.LABEL,)),
        ({"permissions": []}, (Aspect.PERMISSIONS,)),
    ],
)
def test_only_a_new_installation_changes_an_extension(
    app: SaleorApp, change: dict[str, Any], aspects: tuple[Aspect, ...]
) -> None:
    there = as_saleor_has_it(app.manifest((3, 23)))
    there["extensions"][0].update(change)
    [difference] = compared(app, there)
    assert (difference.part, difference.state, difference.aspects) == (Part.EXTENSION, State.CHANGED, aspects)
    assert difference.remedy is Remedy.REINSTALL


def test_an_extension_that_the_app_does_not_have_any_more(app: SaleorApp) -> None:
    there = as_saleor_has_it(app.manifest((3, 23)))
    there["extensions"].append({**there["extensions"][0], "mountName": "NAVIGATION_ORDERS", "label": "Old"})
    [difference] = compared(app, there)
    assert (difference.part, difference.state, difference.name) == (Part.EXTENSION, State.LEFT_OVER, "Old")


def test_permissions_are_the_staffs_to_give_and_to_take(app: SaleorApp) -> None:
    app.info = replace(app.info, permissions=("HANDLE_PAYMENTS", "MANAGE_USERS"))
    there = as_saleor_has_it(app.manifest((3, 23)))
    there["permissions"] = [{"code": "HANDLE_PAYMENTS"}, {"code": "MANAGE_ORDERS"}]
    found = compared(app, there)
    assert [(difference.part, difference.state, difference.name) for difference in found] == [
        (Part.PERMISSION, State.MISSING, "MANAGE_USERS"),
        (Part.PERMISSION, State.LEFT_OVER, "MANAGE_ORDERS"),
    ]
    assert {difference.remedy for difference in found} == {Remedy.STAFF}


def test_the_dashboard_opens_the_app_where_it_was_when_it_was_installed(app: SaleorApp) -> None:
    there = as_saleor_has_it(app.manifest((3, 23))) | {"appUrl": "https://old.example.com/"}
    [difference] = compared(app, there)
    assert (difference.part, difference.remedy) == (Part.ADDRESS, Remedy.REINSTALL)
    assert difference.data() == {
        "part": "address",
        "state": "changed",
        "name": "https://payments.example.com/",
        "remedy": "reinstall",
        "aspects": [],
    }
