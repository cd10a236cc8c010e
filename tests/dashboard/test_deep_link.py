"""A link beside the Dashboard leads into it, and tells strangers nothing (docs/decisions, 0011)."""

from urllib.parse import urlsplit

import httpx2
import pytest
from fastapi import FastAPI
from fastapi.responses import HTMLResponse
from playwright.async_api import Browser, expect

from integration_base_tests.loopback import serve_app
from tests.commands.conftest import one_database
from tests.dashboard.dashboard_app import OTHER_STORE, StaffClient, other_store
from tests.payments.shop import SALEOR

DASHBOARD = "https://dashboard.example.com/"
IN_A_TAB = {"Sec-Fetch-Dest": "document"}
CLOUD = "https://store.eu.saleor.cloud/graphql/"


async def follow(staff_client: StaffClient, path: str, saleor: str = SALEOR, **headers: str) -> httpx2.Response:
    """Open a page of the app, by default in a tab of its own."""
    return await staff_client.http.get(path, params={"saleorApiUrl": saleor}, headers=headers or IN_A_TAB)


async def test_the_link_that_saleor_shows_leads_to_the_payment_in_the_dashboard(staff_client: StaffClient) -> None:
    await staff_client.services.installations.set_dashboard(staff_client.shop.installation.id, DASHBOARD)
    await staff_client.shop.complete_payment()
    [link] = {event.external_url for event in staff_client.shop.transaction.events if event.external_url}
    assert link == f"https://pay.example.com/payments/{staff_client.shop.order_id}?saleorApiUrl={SALEOR}"
    parts = urlsplit(link)
    answer = await staff_client.http.get(f"{parts.path}?{parts.query}", headers=IN_A_TAB)
    assert answer.status_code == 303
    assert answer.headers["location"] == f"{DASHBOARD}extensions/app/QXBwOjE%3D/payments/{staff_client.shop.order_id}"
    assert answer.headers["cache-control"] == "no-store, no-transform"
    assert answer.headers["referrer-policy"] == "no-referrer"


@one_database
async def test_in_saleor_cloud_nobody_has_to_say_where_the_dashboard_is(staff_client: StaffClient) -> None:
    await staff_client.services.installations.save(
        saleor_api_url=CLOUD,
        saleor_domain="store.eu.saleor.cloud",
        schema_version="3.23",
        app_id="QXBwOjc=",
        token="a-token",
        jwks=None,
    )
    answer = await follow(staff_client, "/", CLOUD)
    assert answer.headers["location"] == "https://store.eu.saleor.cloud/dashboard/extensions/app/QXBwOjc%3D/"


@pytest.mark.threat("enumeration")
@one_database
async def test_a_stranger_learns_nothing_of_payments(staff_client: StaffClient) -> None:
    await staff_client.services.installations.set_dashboard(staff_client.shop.installation.id, DASHBOARD)
    await other_store(staff_client.shop)
    ours = await staff_client.payment(1)
    there = [await follow(staff_client, f"/payments/{order_id}") for order_id in (ours.order_id, "f" * 32)]
    assert {response.status_code for response in there} == {303}
    assert there[0].headers["location"].replace(ours.order_id, "f" * 32) == there[1].headers["location"]
    # The payment of one store, asked for in the name of another, whose Dashboard is not known.
    for order_id in (ours.order_id, "f" * 32):
        assert (await follow(staff_client, f"/payments/{order_id}", OTHER_STORE)).status_code == 200
        assert (await follow(staff_client, f"/payments/{order_id}", "https://unknown.example.com/graphql/")).text == (
            await staff_client.http.get("/")
        ).text


@pytest.mark.threat("open-redirect")
@one_database
@pytest.mark.parametrize(
    "saleor",
    [
        "https://evil.example.com/graphql/",
        "https://evil.saleor.cloud/graphql/",  # in the cloud, but it has not installed the app
        "//evil.example.com/graphql/",
        f"{SALEOR}?https://evil.example.com/",
        f"{SALEOR}#",
        "javascript:alert(1)",
        "",
    ],
)
async def test_nobody_is_sent_where_a_stranger_wants(staff_client: StaffClient, saleor: str) -> None:
    await staff_client.services.installations.set_dashboard(staff_client.shop.installation.id, DASHBOARD)
    assert (await follow(staff_client, "/payments/7", saleor)).status_code == 200


@pytest.mark.threat("open-redirect")
@one_database
@pytest.mark.parametrize("path", ["/payments/%2E%2E", "/payments/a%3Fb", "/payments/a%0D%0Ab", "/payments/%D1%84"])
async def test_only_a_plain_page_is_taken_along(staff_client: StaffClient, path: str) -> None:
    await staff_client.services.installations.set_dashboard(staff_client.shop.installation.id, DASHBOARD)
    assert "location" not in (await follow(staff_client, path)).headers


@one_database
async def test_a_frame_of_the_dashboard_is_left_where_it_is(staff_client: StaffClient) -> None:
    await staff_client.services.installations.set_dashboard(staff_client.shop.installation.id, DASHBOARD)
    assert (await follow(staff_client, "/payments/7", **{"Sec-Fetch-Dest": "iframe"})).status_code == 200


@pytest.mark.browser
@one_database
async def test_a_browser_arrives_in_the_dashboard(browser: Browser, staff_client: StaffClient) -> None:
    dashboard = FastAPI()

    @dashboard.get("/dashboard/extensions/app/{app}/payments/{order_id}")
    async def show(app: str, order_id: str) -> HTMLResponse:
        return HTMLResponse(f"<h1>{app} shows {order_id}</h1>")

    async with serve_app(staff_client.app) as here, serve_app(dashboard) as there:
        await staff_client.services.installations.set_dashboard(
            staff_client.shop.installation.id, f"{there}/dashboard/"
        )
        page = await browser.new_page()
        await page.goto(f"{here}/payments/7?saleorApiUrl={SALEOR}")
        await expect(page.get_by_role("heading")).to_have_text("QXBwOjE= shows 7")
        await page.goto(f"{here}/payments/7?saleorApiUrl={OTHER_STORE}")
        await expect(page.get_by_role("alert")).to_have_text("Open this page in the Saleor Dashboard.")
