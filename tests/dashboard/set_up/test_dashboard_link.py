"""Staff say where their Dashboard is, from within it; a link then shows where it leads (docs/decisions, 0028)."""

import re
from dataclasses import replace
from urllib.parse import quote

import httpx2
import pytest
from playwright.async_api import Browser, expect

from app.rules.addresses import Addresses
from tests.commands.conftest import one_database
from tests.dashboard.dashboard_app import OTHER_STORE, StaffClient, open_staff_client, other_store
from tests.dashboard.framing import dashboard_of, sign_in
from tests.payments.shop import SALEOR

PAGE = "/set-up/dashboard"
ORIGIN = "https://dashboard.example.com"
DASHBOARD = f"{ORIGIN}/dashboard/"
IN_A_TAB = {"Sec-Fetch-Dest": "document"}


async def see(staff_client: StaffClient, origin: str = ORIGIN) -> str:
    """Look at the page in a Dashboard of that origin."""
    return (await staff_client.see(PAGE, **{"Dashboard-Origin": origin})).text


async def save(staff_client: StaffClient, address: str, origin: str = ORIGIN) -> httpx2.Response:
    """Save an address in a Dashboard of that origin."""
    headers = staff_client.headers(**{"Dashboard-Origin": origin})
    return await staff_client.http.post(f"/parts{PAGE}", headers=headers, data={"address": address})


async def follow(staff_client: StaffClient, saleor: str = SALEOR, *, referrer: str = "") -> httpx2.Response:
    """Open the link of a transaction, on a page at ``referrer``."""
    headers = IN_A_TAB | ({"Referer": referrer} if referrer else {})
    return await staff_client.http.get("/payments/7", params={"saleorApiUrl": saleor}, headers=headers)


async def test_the_dashboard_that_somebody_is_in_is_proposed_and_kept_only_when_they_say_so(
    staff_client: StaffClient,
) -> None:
    assert f'value="{DASHBOARD}"' in await see(staff_client)
    assert "location" not in (await follow(staff_client)).headers
    assert ORIGIN not in (await follow(staff_client)).text  # looking at it has saved nothing
    saved = await save(staff_client, f"{ORIGIN}/shop-admin")
    assert "The address was saved." in saved.text
    link = await follow(staff_client)
    assert link.status_code == 200  # nobody is sent there without seeing where
    assert "location" not in link.headers
    assert f'<strong class="where">{ORIGIN}/shop-admin/</strong>' in link.text
    assert "shop.example.com" in link.text
    assert f'href="{ORIGIN}/shop-admin/extensions/app/QXBwOjE%3D/payments/7" rel="noreferrer"' in link.text
    assert (await save(staff_client, "")).status_code == 200
    assert ORIGIN not in (await follow(staff_client)).text


async def test_an_address_is_tried_in_the_browser_before_it_can_be_saved(staff_client: StaffClient) -> None:
    assert "Save address" not in await see(staff_client)
    headers = staff_client.headers(**{"Dashboard-Origin": ORIGIN})
    tried = await staff_client.http.post(f"/parts{PAGE}/try", headers=headers, data={"address": f"{ORIGIN}/shop"})
    page = f"{ORIGIN}/shop/extensions/app/QXBwOjE%3D{PAGE}"
    query = f"address={quote(f'{ORIGIN}/shop/', safe='')}"
    assert f'href="{page}?{query}" target="_blank"' in tried.text
    assert "Save address" not in tried.text
    assert ORIGIN not in (await follow(staff_client)).text  # trying it has saved nothing
    # The Dashboard at that address shows the page with the same query; it has saved nothing either.
    arrived = await staff_client.see(f"{PAGE}?{query}", **{"Dashboard-Origin": ORIGIN})
    assert f'name="address" value="{ORIGIN}/shop/"' in arrived.text
    assert "Save address" in arrived.text
    assert ORIGIN not in (await follow(staff_client)).text


@one_database
@pytest.mark.parametrize("address", ["https://evil.example.com/", "javascript:alert(1)", f"{ORIGIN}/?to=x", ""])
async def test_a_link_of_a_stranger_offers_nothing_to_save(staff_client: StaffClient, address: str) -> None:
    page = await staff_client.see(f"{PAGE}?address={quote(address)}", **{"Dashboard-Origin": ORIGIN})
    assert f'inputmode="url" value="{DASHBOARD}"' in page.text
    assert "Save address" not in page.text


@pytest.mark.threat("open-redirect")
async def test_whoever_comes_from_that_very_dashboard_is_led_back_without_a_question(staff_client: StaffClient) -> None:
    await save(staff_client, DASHBOARD)
    for referrer in (f"{ORIGIN}/", DASHBOARD):
        back = await follow(staff_client, referrer=referrer)
        assert (back.status_code, back.headers["location"]) == (
            303,
            f"{DASHBOARD}extensions/app/QXBwOjE%3D/payments/7",
        )
    for referrer in ("", "null", "http://dashboard.example.com/", "https://evil.example/", f"{ORIGIN}.evil.example/"):
        assert "location" not in (await follow(staff_client, referrer=referrer)).headers


@one_database
async def test_on_saleor_cloud_nothing_is_asked(staff_client: StaffClient) -> None:
    cloud = "https://store.eu.saleor.cloud"
    await staff_client.services.installations.save(
        saleor_api_url=f"{cloud}/graphql/",
        saleor_domain="store.eu.saleor.cloud",
        schema_version="3.23",
        app_id="QXBwOjE=",
        token="a-token",
        jwks={"keys": [staff_client.key.public]},
    )
    token = staff_client.token(iss=f"{cloud}/graphql/")
    headers = staff_client.headers(token, f"{cloud}/graphql/", **{"Dashboard-Origin": cloud})
    page = (await staff_client.http.get(f"/parts{PAGE}", headers=headers)).text
    assert f"<dd>{cloud}/dashboard/</dd>" in page
    assert "<form" not in page.partition("<h1")[2]
    assert "You are in another Dashboard" not in page


async def test_another_dashboard_replaces_nothing_until_somebody_says_so(staff_client: StaffClient) -> None:
    await save(staff_client, DASHBOARD)
    moved = await see(staff_client, "https://new.example.com")
    assert "You are in another Dashboard" in moved
    assert DASHBOARD in moved  # where links lead as before
    assert 'value="https://new.example.com/dashboard/"' in moved
    assert ORIGIN in (await follow(staff_client)).text
    await save(staff_client, "https://new.example.com/", "https://new.example.com")
    assert "https://new.example.com" in (await follow(staff_client)).text
    assert "You are in another Dashboard" not in await see(staff_client, "https://new.example.com")


async def test_what_the_operator_has_said_stands(staff_client: StaffClient) -> None:
    await save(staff_client, "https://evil.example.com/", "https://evil.example.com")
    installation = staff_client.shop.installation.id
    await staff_client.services.installations.set_dashboard(installation, DASHBOARD)
    page = await see(staff_client, "https://evil.example.com")
    assert "You are in another Dashboard" in page
    assert "contact the app operator" in page
    assert "<form" not in page.partition("<h1")[2]
    refused = await save(staff_client, "https://evil.example.com/", "https://evil.example.com")
    assert (refused.status_code, refused.json()["detail"]["code"]) == (409, "OPERATORS")
    assert (await follow(staff_client)).headers["location"].startswith(DASHBOARD)
    # What staff said before is gone with it.
    await staff_client.services.installations.set_dashboard(installation, None)
    assert "evil" not in (await follow(staff_client)).text


@one_database
@pytest.mark.parametrize(
    ("address", "code"),
    [
        ("https://evil.example.com/dashboard/", "ELSEWHERE"),
        ("https://dashboard.example.com:8443/", "ELSEWHERE"),
        ("http://dashboard.example.com/", "ELSEWHERE"),
        ("https://dashboard.example.com.evil.example/", "ELSEWHERE"),
        ("https://dashboard.example.com@evil.example/", "INVALID_DATA"),
        ("https://dashboard.example.com/?to=https://evil.example/", "INVALID_DATA"),
        ("javascript:alert(1)", "INVALID_DATA"),
        ("dashboard.example.com", "INVALID_DATA"),
    ],
)
async def test_only_the_dashboard_that_one_is_in_can_be_named(
    staff_client: StaffClient, address: str, code: str
) -> None:
    refused = await save(staff_client, address)
    assert (refused.status_code, refused.json()["detail"]["code"]) == (422, code)
    assert list(refused.json()["detail"]["fields"]) == ["address"]
    assert 'class="where"' not in (await follow(staff_client)).text


@pytest.mark.threat("open-redirect")
@one_database
@pytest.mark.parametrize(
    "origin",
    ["", "null", "http://dashboard.example.com", "http://127.0.0.1:9000", "https://x.example/path", "https://a b",
     'https://x.example"><script>'],
)  # fmt: skip
async def test_no_link_leads_where_plain_http_or_no_origin_is(staff_client: StaffClient, origin: str) -> None:
    shop = staff_client.shop
    shop.services = replace(shop.services, addresses=Addresses("https://pay.example.com"))
    async with open_staff_client(shop) as there:
        there.permissions = staff_client.permissions
        page = await see(there, origin)
        assert 'name="address" inputmode="url" value=""' in page
        assert (await save(there, f"{origin}/", origin)).status_code == 422


@one_database
async def test_who_may_not_set_up_cannot_say_where_links_lead(staff_client: StaffClient) -> None:
    for permissions in (("HANDLE_PAYMENTS",), ("MANAGE_APPS",)):
        staff_client.permissions = permissions
        assert (await save(staff_client, DASHBOARD)).status_code == 403
    stranger = await staff_client.http.post(
        f"/parts{PAGE}", headers={"Dashboard-Origin": ORIGIN, "Saleor-Api-Url": SALEOR}, data={"address": DASHBOARD}
    )
    assert stranger.status_code == 401
    assert 'class="where"' not in (await follow(staff_client)).text


@pytest.mark.threat("staff-of-another-store")
@one_database
async def test_a_store_speaks_for_its_own_links_only_and_frames_nothing(staff_client: StaffClient) -> None:
    await other_store(staff_client.shop)
    before = (await staff_client.http.get("/payments")).headers["content-security-policy"]
    await save(staff_client, DASHBOARD)
    assert ORIGIN not in (await follow(staff_client, OTHER_STORE)).text
    assert (await staff_client.http.get("/payments")).headers["content-security-policy"] == before


@pytest.mark.browser
@one_database
async def test_in_the_dashboard_its_address_is_filled_in_and_the_link_leads_back(
    browser: Browser, staff_client: StaffClient
) -> None:
    async with dashboard_of(browser, staff_client.app, PAGE) as (page, frame):
        await sign_in(page, staff_client.token())
        there = await page.evaluate("location.origin")
        field = frame.get_by_label("Dashboard address")
        await expect(field).to_have_value(f"{there}/dashboard/")
        # At an address that is not the Dashboard's there is nothing to save it with.
        await field.fill(f"{there}/admin/")
        await frame.get_by_role("button", name="Try address").click()
        async with page.expect_popup() as opened:
            await frame.get_by_role("link", name="Open in a new tab").click()
        await expect((await opened.value).locator("iframe")).to_have_count(0)
        await field.fill(f"{there}/dashboard/")
        await frame.get_by_role("button", name="Try address").click()
        trial = frame.get_by_role("link", name="Open in a new tab")
        await expect(trial).to_have_attribute("href", re.compile(re.escape(f"{there}/dashboard/")))
        async with page.expect_popup() as opened:
            await trial.click()
        tab = await opened.value
        inside = tab.frame_locator("iframe")
        await expect(tab.locator("iframe")).to_be_visible()
        await sign_in(tab, staff_client.token())
        await expect(inside.locator(".where")).to_have_text(f"{there}/dashboard/")
        await inside.get_by_role("button", name="Save address").click()
        await expect(inside.get_by_text("The address was saved.")).to_be_visible()
        ours = await frame.locator("html").evaluate("() => location.origin")
        await page.goto(f"{ours}/payments?saleorApiUrl={SALEOR}")
        await expect(page.locator(".where")).to_have_text(f"{there}/dashboard/")
        await page.get_by_role("link", name="Open it in the Dashboard").click()
        await expect(page.locator("iframe")).to_be_visible()
        assert page.url == f"{there}/dashboard/extensions/app/QXBwOjE%3D/payments"
