"""The played Dashboard without a browser: who gets which token, what an order's page offers, which widgets it shows."""

import json
import re
from collections.abc import AsyncIterator
from decimal import Decimal
from typing import Any
from urllib.parse import quote

import httpx2
import pytest
from joserfc import jwt
from joserfc.jwk import KeySet

from integration_base_tests.clock import Clock
from integration_base_tests.loopback import json_reply as answered
from saleor_app_sdk.testing import FakeSaleor, SaleorSettings, Serving, serving
from saleor_app_sdk.testing.views import AppView
from saleor_app_sdk.testing.vocabulary import WebhookEvent
from saleor_app_sdk_tests.testing.orders import an_order
from saleor_app_sdk_tests.testing.stub import Stub

WIDGET = {
    "label": "Payment",
    "mount": "ORDER_DETAILS_WIDGETS",
    "target": "WIDGET",
    "permissions": ["HANDLE_PAYMENTS"],
    "url": "/widgets/order",
    "options": {"widgetTarget": {"method": "POST"}},
}


@pytest.fixture
async def browser(serving_saleor: Serving) -> AsyncIterator[httpx2.AsyncClient]:
    async with httpx2.AsyncClient(base_url=serving_saleor.url, trust_env=False, follow_redirects=True) as browser:
        yield browser


async def the_app(saleor: FakeSaleor) -> AppView:
    (app,) = await saleor.apps()
    return app


async def claims(browser: httpx2.AsyncClient, app: AppView) -> dict[str, Any]:
    """What the token says that the Dashboard hands to the app's page, if Saleor's key has signed it."""
    handed = await browser.get(f"/dashboard/apps/{quote(app.id)}/token")
    keys = KeySet.import_key_set((await browser.get("/.well-known/jwks.json")).json())
    token = jwt.decode(handed.json()["token"], keys, algorithms=["RS256"])
    assert "kid" in token.header
    return token.claims


async def test_a_token_says_who_looks_and_what_they_may(stub: Stub, clock: Clock) -> None:
    settings = SaleorSettings(token_lifetime=120)
    async with serving(settings, clock=clock) as saleor, httpx2.AsyncClient(base_url=saleor.url) as browser:
        await saleor.saleor.install(stub.manifest_url)
        app = await the_app(saleor.saleor)
        member = await saleor.saleor.sign_in("nadia@example.com", ["MANAGE_ORDERS", "HANDLE_PAYMENTS"])
        said = await claims(browser, app)
    now = int(clock().timestamp())
    assert said.pop("token")
    assert said == {
        "iat": now,
        "exp": now + 120,
        "owner": "saleor",
        "iss": saleor.saleor.api_url,
        "type": "thirdparty",
        "email": "nadia@example.com",
        "user_id": member.id,
        "is_staff": True,
        "app": app.id,
        "permissions": ["HANDLE_PAYMENTS"],
        "user_permissions": ["HANDLE_PAYMENTS", "MANAGE_ORDERS"],
    }


async def test_somebody_else_signs_in(saleor: FakeSaleor, installed: Stub, browser: httpx2.AsyncClient) -> None:
    app = await the_app(saleor)
    assert (await claims(browser, app))["email"] == "olena@example.com"
    page = await browser.post("/dashboard/sign-in", data={"email": "iryna@example.com", "back": "/dashboard/"})
    assert page.url.path == "/dashboard/"
    assert (await claims(browser, app))["user_permissions"] == ["MANAGE_ORDERS"]
    assert (await browser.post("/dashboard/sign-in", data={"email": "nobody@example.com"})).status_code == 404


async def test_without_anybody_there_is_no_token(serving_saleor: Serving, installed: Stub) -> None:
    serving_saleor.engine.state.signed_in = None
    app = await the_app(serving_saleor.saleor)
    async with httpx2.AsyncClient(base_url=serving_saleor.url, trust_env=False) as browser:
        assert (await browser.get(f"/dashboard/apps/{quote(app.id)}/token")).status_code == 403
        assert "data-token" not in (await browser.get(f"/dashboard/extensions/app/{quote(app.id)}")).text


async def test_the_front_leads_to_apps_with_their_problems_and_to_orders(
    saleor: FakeSaleor, installed: Stub, browser: httpx2.AsyncClient
) -> None:
    order, _ = await an_order(saleor, installed, "CHARGE_SUCCESS")
    app = await the_app(saleor)
    problem = {"message": "The keys are <refused>.", "key": "keys", "criticalThreshold": 1}
    document = "mutation ($input: AppProblemCreateInput!) { appProblemCreate(input: $input) { errors { field } } }"
    made = await browser.post(
        "/graphql/",
        json={"query": document, "variables": {"input": problem}},
        headers={"Authorization": f"Bearer {app.token}"},
    )
    assert "errors" not in made.json(), made.text
    front = await browser.get("/dashboard")
    assert '<li class="critical">The keys are &lt;refused&gt;.</li>' in front.text
    for path in (f"/dashboard/extensions/app/{quote(app.id)}", f"/dashboard/orders/{quote(order.id)}"):
        assert f'href="{path}"' in front.text
        assert (await browser.get(path)).status_code == 200


async def test_staff_refund_on_the_orders_page(
    saleor: FakeSaleor, installed: Stub, browser: httpx2.AsyncClient
) -> None:
    told = {"result": "REFUND_SUCCESS", "pspReference": "r-1", "externalUrl": "https://gateway.example.com/r-1"}
    installed.answer(WebhookEvent.TRANSACTION_REFUND_REQUESTED, answered(told))
    order, transaction = await an_order(saleor, installed, "CHARGE_SUCCESS")
    path = f"/dashboard/orders/{quote(order.id)}"
    said = {"transaction": transaction.id, "action": "REFUND", "amount": "100,50"}
    done = await browser.post(path, data=said)
    assert done.url.path == path
    assert '<a href="https://gateway.example.com/r-1"' in done.text
    assert (await saleor.transaction(transaction.id)).amounts.refunded == Decimal("100.50")
    assert (await browser.post(path, data=said, headers={"sec-fetch-site": "cross-site"})).status_code == 403
    for nonsense in ("-1", "a lot", "NaN"):
        assert (await browser.post(path, data=said | {"amount": nonsense})).status_code == 422
    await saleor.deactivate()
    refused = await browser.post(path, data=said)
    assert refused.status_code == 422
    assert "No app or plugin is configured" in refused.text


async def test_widgets_are_posted_to_for_those_who_may(
    saleor: FakeSaleor, stub: Stub, browser: httpx2.AsyncClient
) -> None:
    stub.manifest["extensions"] = [WIDGET, WIDGET | {"mount": "PRODUCT_DETAILS_WIDGETS", "label": "Elsewhere"}]
    await saleor.install(stub.manifest_url)
    order, _ = await an_order(saleor, stub, "CHARGE_SUCCESS")
    page = (await browser.get(f"/dashboard/orders/{quote(order.id)}")).text
    assert f'<form method="post" action="{stub.url}/widgets/order"' in page
    assert "Elsewhere" not in page
    fields = dict(re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)">', page.partition("<aside")[2]))
    app = await the_app(saleor)
    token = jwt.decode(fields.pop("accessToken"), KeySet.import_key_set(await keys(browser)))
    assert token.claims["app"] == app.id
    assert token.claims["app_extension"]
    assert fields == {"saleorApiUrl": saleor.api_url, "appId": app.id, "orderId": order.id}
    await saleor.sign_in("iryna@example.com")
    assert "/widgets/order" not in (await browser.get(f"/dashboard/orders/{quote(order.id)}")).text


async def keys(browser: httpx2.AsyncClient) -> Any:
    return json.loads((await browser.get("/.well-known/jwks.json")).text)


async def test_only_its_own_files_are_served(browser: httpx2.AsyncClient) -> None:
    assert (await browser.get("/dashboard/static/dashboard.js")).status_code == 200
    assert (await browser.get("/dashboard/static/pages.py")).status_code == 404
    assert (await browser.get("/dashboard/orders/nope")).status_code == 404
