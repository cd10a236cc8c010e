"""What Saleor reads about the app."""

import json
from collections.abc import Collection, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import httpx2
import pytest
from graphql import parse
from pydantic import ValidationError

from integration_base_tests.clock import Clock
from saleor_app_sdk.app import AppInfo, SaleorApp
from saleor_app_sdk.events import TransactionChargeRequested, TransactionRefundRequested
from saleor_app_sdk.extension import Extension, Widget
from saleor_app_sdk.responses import ActionResponse
from saleor_app_sdk.versions import Version
from saleor_app_sdk.webhook_definition import WebhookContext
from saleor_app_sdk_tests.fake_saleor import InMemoryStore
from saleor_app_sdk_tests.schemas import VERSIONS, schema
from saleor_app_sdk_tests.served_app import BASE_URL, MANIFEST, make_app, open_client

EVENTS = {
    "PAYMENT_GATEWAY_INITIALIZE_SESSION",
    "TRANSACTION_INITIALIZE_SESSION",
    "TRANSACTION_PROCESS_SESSION",
    "TRANSACTION_CHARGE_REQUESTED",
    "TRANSACTION_REFUND_REQUESTED",
    "TRANSACTION_CANCELATION_REQUESTED",
    "LIST_STORED_PAYMENT_METHODS",
    "STORED_PAYMENT_METHOD_DELETE_REQUESTED",
}

IN_BACKGROUND = {"CUSTOMER_DELETED", "ACCOUNT_DELETED", "APP_DELETED", "APP_STATUS_CHANGED"}


async def manifest_for(version: str | None, app: SaleorApp) -> dict[str, Any]:
    async with open_client(app) as client:
        answer = await client.get("/api/manifest", headers={"Saleor-Schema-Version": version} if version else {})
    assert answer.status_code == 200
    said: dict[str, Any] = answer.json()
    return said


@pytest.fixture
def app(store: InMemoryStore, http: httpx2.AsyncClient, clock: Clock) -> SaleorApp:
    return make_app(store, http, clock)


async def test_manifest_may_be_requested_with_a_slash_behind_its_address(app: SaleorApp) -> None:
    """As people paste it into the Dashboard: a Saleor shows them no reason, and follows no redirect."""
    async with open_client(app) as client:
        first, second = [await client.get(address) for address in ("/api/manifest", "/api/manifest/")]
        assert (second.status_code, second.json()) == (200, first.json())
        assert (await client.head("/api/manifest/")).status_code == 200


async def test_who_we_are(app: SaleorApp) -> None:
    said = await manifest_for("3.23", app)
    assert said["id"] == "gateway.payments.app"
    assert said["version"] == "1.2.3"
    assert said["requiredSaleorVersion"] == ">=3.21 <4"
    assert said["permissions"] == ["HANDLE_PAYMENTS"]
    assert said["appUrl"] == f"{BASE_URL}/"
    assert said["tokenTargetUrl"] == f"{BASE_URL}/api/register"
    assert said["brand"] == {"logo": {"default": f"{BASE_URL}/static/logo.png"}}
    assert said["name"].strip()
    assert said["author"].strip()
    assert said["about"].strip()
    for link in ("supportUrl", "dataPrivacyUrl", "homepageUrl"):
        assert said[link].startswith("https://")


async def test_every_webhook_that_is_defined_is_in_it_and_leads_to_its_route(app: SaleorApp) -> None:
    said = await manifest_for("3.23", app)
    assert {event for webhook in said["webhooks"] for event in webhook.get("syncEvents", ())} == EVENTS
    assert {event for webhook in said["webhooks"] for event in webhook.get("asyncEvents", ())} == IN_BACKGROUND
    async with open_client(app) as client:
        for webhook in said["webhooks"]:
            events: list[str] = webhook.get("syncEvents", []) + webhook.get("asyncEvents", [])
            [named] = events
            assert webhook["isActive"] is True
            assert webhook["name"]
            slug = named.lower().replace("_", "-")
            assert webhook["targetUrl"] == f"{BASE_URL}/api/webhooks/{slug}"
            answer = await client.post(webhook["targetUrl"])
            assert answer.status_code == 401, "the route exists and asks for a signature"
            parse(webhook["query"])


@pytest.mark.parametrize(
    ("version", "known"),
    [("3.21", False), ("3.22", False), ("3.23", True), ("3.24", True), (None, False), ("nonsense", False)],
)
async def test_nothing_in_it_is_newer_than_the_saleor_that_asks(
    app: SaleorApp, version: str | None, *, known: bool
) -> None:
    said = await manifest_for(version, app)
    assert all(("identifier" in webhook) is known for webhook in said["webhooks"])
    in_background = {event for webhook in said["webhooks"] for event in webhook.get("asyncEvents", ())}
    assert in_background == (IN_BACKGROUND if known else {"ACCOUNT_DELETED"})


TARGETS: tuple[Literal["POPUP", "APP_PAGE", "NEW_TAB"], ...] = ("POPUP", "APP_PAGE", "NEW_TAB")
WIDGET = Widget(label="Payments", mount="ORDER_DETAILS_WIDGETS", path="/widget", permissions=("HANDLE_PAYMENTS",))


@pytest.mark.parametrize(
    ("version", "told"), [("3.21", False), ("3.22", True), ("3.23", True), ("3.24", True), (None, False)]
)
async def test_a_widget_is_told_to_a_saleor_that_has_widgets(
    store: InMemoryStore, http: httpx2.AsyncClient, clock: Clock, version: str | None, *, told: bool
) -> None:
    app = make_app(store, http, clock, iframe_base_url="https://staff.example.com/")
    app.add_widget(WIDGET)
    entry = {
        "label": "Payments",
        "mount": "ORDER_DETAILS_WIDGETS",
        "target": "WIDGET",
        "url": "https://staff.example.com/widget",
        "permissions": ["HANDLE_PAYMENTS"],
        "options": {"widgetTarget": {"method": "GET"}},
    }
    assert (await manifest_for(version, app))["extensions"] == ([entry] if told else [])


def extension(mount: str, target: Literal["POPUP", "APP_PAGE", "NEW_TAB"] = "POPUP") -> Extension:
    return Extension("Open", mount, "/open", ("HANDLE_PAYMENTS",), target)


async def test_extension_is_listed_with_its_target_and_address(
    store: InMemoryStore, http: httpx2.AsyncClient, clock: Clock
) -> None:
    app = make_app(store, http, clock, iframe_base_url="https://staff.example.com/")
    for target in TARGETS:
        app.add_extension(extension("ORDER_DETAILS_MORE_ACTIONS", target))
    app.add_extension(Extension("For all", "PRODUCT_OVERVIEW_CREATE", "/new"))
    entries = (await manifest_for("3.23", app))["extensions"]
    assert entries[0] == {
        "label": "Open",
        "mount": "ORDER_DETAILS_MORE_ACTIONS",
        "target": "POPUP",
        "url": "https://staff.example.com/open",
        "permissions": ["HANDLE_PAYMENTS"],
    }
    assert [(entry["target"], entry["url"], entry.get("options")) for entry in entries[1:3]] == [
        ("APP_PAGE", "/open", None),
        ("NEW_TAB", "https://staff.example.com/open", {"newTabTarget": {"method": "GET"}}),
    ]
    assert (entries[3]["target"], entries[3]["permissions"]) == ("POPUP", [])


@pytest.mark.parametrize("version", VERSIONS)
async def test_extension_is_listed_where_saleor_knows_its_mount_and_target(app: SaleorApp, version: Version) -> None:
    """Later Saleors leave both to the Dashboard, and have no such enumerations."""
    newest, asked = schema((3, 22)).type_map, schema(version).type_map
    mounts, targets = enum_values(newest, "AppExtensionMountEnum"), enum_values(newest, "AppExtensionTargetEnum")
    expected = set()
    for mount in mounts:
        for target in TARGETS:
            app.add_extension(extension(mount, target))
            is_known = mount in enum_values(asked, "AppExtensionMountEnum", mounts)
            if is_known and target in enum_values(asked, "AppExtensionTargetEnum", targets):
                expected.add((mount, target))
    entries = (await manifest_for(".".join(map(str, version)), app))["extensions"]
    assert {(entry["mount"], entry["target"]) for entry in entries} == expected


def enum_values(types: Mapping[str, Any], name: str, default: Collection[str] = ()) -> Collection[str]:
    return list(types[name].values) if name in types else default


def test_one_permission_may_be_given_alone(app: SaleorApp) -> None:
    """A tuple of one is easily written without its comma: Saleor was asked for a permission H, and for one A."""
    app.info = replace(app.info, permissions="HANDLE_PAYMENTS")  # type: ignore[arg-type] # the mistake
    assert app.manifest((3, 23))["permissions"] == ["HANDLE_PAYMENTS"]


def test_extension_cannot_need_more_than_the_app_has(app: SaleorApp) -> None:
    with pytest.raises(ValueError, match="MANAGE_ORDERS"):
        app.add_extension(replace(extension("NAVIGATION_ORDERS"), permissions=("MANAGE_ORDERS",)))


def test_a_widget_cannot_need_more_than_the_app_has(app: SaleorApp) -> None:
    with pytest.raises(ValueError, match="MANAGE_ORDERS"):
        app.add_widget(replace(WIDGET, permissions=("HANDLE_PAYMENTS", "MANAGE_ORDERS")))


async def test_people_and_servers_may_come_by_different_roads(
    store: InMemoryStore, http: httpx2.AsyncClient, clock: Clock
) -> None:
    said = await manifest_for("3.23", make_app(store, http, clock, iframe_base_url="https://staff.example.com/"))
    assert said["appUrl"] == "https://staff.example.com/"
    assert said["supportUrl"].startswith("https://staff.example.com/")
    assert said["tokenTargetUrl"].startswith(BASE_URL)
    assert said["brand"]["logo"]["default"].startswith(BASE_URL), "it is Saleor's server that fetches the logo"
    assert all(webhook["targetUrl"].startswith(BASE_URL) for webhook in said["webhooks"])


async def test_it_is_plain_json_in_saleors_size(app: SaleorApp) -> None:
    assert len(json.dumps(await manifest_for("3.23", app))) < 100_000


def test_a_text_file_that_says_too_little_or_too_much(tmp_path: Path) -> None:
    whole = (MANIFEST / "manifest.toml").read_text()
    for broken in (whole.replace("author =", "autor ="), whole + '\nversion2 = "1"', 'id = "x"'):
        (tmp_path / "manifest.toml").write_text(broken)
        with pytest.raises(ValidationError):
            AppInfo.read(tmp_path, version="1")


def test_a_definition_that_does_not_fit_is_refused_when_the_app_starts(app: SaleorApp) -> None:
    query = "transaction_refund_requested.graphql"

    async def of_another_event(event: TransactionChargeRequested, context: WebhookContext) -> ActionResponse:
        raise AssertionError

    async def of_no_event(event, context) -> ActionResponse:  # type: ignore[no-untyped-def] # noqa: ANN001 - that is the mistake
        raise AssertionError

    async def without_parameters() -> ActionResponse:
        raise AssertionError

    def not_asynchronous(event: TransactionRefundRequested, context: WebhookContext) -> ActionResponse:
        raise AssertionError

    async def proper(event: TransactionRefundRequested, context: WebhookContext) -> ActionResponse:
        raise AssertionError

    for handler in (of_another_event, of_no_event, without_parameters, not_asynchronous):
        with pytest.raises(TypeError, match="TRANSACTION_REFUND_REQUESTED"):
            app.webhook("TRANSACTION_REFUND_REQUESTED", query=query)(handler)  # type: ignore[type-var]
    with pytest.raises(KeyError):
        app.webhook("TRANSACTION_REFUND_REQUESTED", query="no_such_document.graphql")(proper)
    with pytest.raises(ValueError, match="defined already"):
        app.webhook("TRANSACTION_REFUND_REQUESTED", query=query)(proper)
