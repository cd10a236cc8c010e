"""Nobody sees a part, or does anything, without a good token of that store's own staff."""

import pytest
from fastapi.routing import APIRoute

from app.store.aggregates import find_by_order
from app.web.dashboard.order.widget import ORDER_WIDGET
from saleor_app_sdk_tests.dashboard_tokens import claims, forgeries, jwt
from saleor_app_sdk_tests.fake_saleor import signing_key
from tests.commands.books import store_payment
from tests.commands.conftest import one_database
from tests.dashboard.dashboard_app import OTHER_STORE, StaffClient, names, other_store
from tests.payments.shop import SALEOR

pytestmark = one_database

ActionRequest = tuple[str, str]


def routes(staff_client: StaffClient, order_id: str, account_id: str = "nobody") -> list[ActionRequest]:
    """Return every part as method and address."""
    found = [
        (method, route.path.format(order_id=order_id, account_id=account_id))
        for router in staff_client.parts
        for route in router.routes
        if isinstance(route, APIRoute)
        for method in route.methods or ()
    ]
    assert len(found) == sum(len(router.routes) for router in staff_client.parts) >= 6
    return found


def setting_up(staff_client: StaffClient, account_id: str = "nobody") -> list[ActionRequest]:
    """Return every part of setting the app up."""
    found = [route for route in routes(staff_client, "nothing", account_id) if route[1].startswith("/parts/set-up")]
    assert len(found) >= 12
    return found


def strangers(staff_client: StaffClient) -> dict[str, tuple[int, dict[str, str]]]:
    """Return the headers of those who must not come in, and how they are answered."""
    said = claims(staff_client.shop.clock)
    no_token = {"Saleor-Api-Url": SALEOR}
    late = staff_client.token(exp=said["iat"] - 6)
    return {
        "nobody": (401, {}),
        "without a token": (401, no_token),
        "with a token as cookie": (401, no_token | {"Cookie": f"Authorization={staff_client.token()}"}),
        "by another scheme": (401, no_token | {"Authorization": f"Basic {staff_client.token()}"}),
        "without a Saleor": (401, {"Authorization": f"Bearer {staff_client.token()}"}),
        "too late": (401, staff_client.headers(late)),
        "of another app": (401, staff_client.headers(staff_client.token(app="QXBwOjI="))),
        "of another Saleor": (401, staff_client.headers(staff_client.token(iss=OTHER_STORE))),
        "for another Saleor": (401, staff_client.headers(saleor=OTHER_STORE)),
        "for an unknown Saleor": (401, staff_client.headers(saleor="https://unknown.example.com/graphql/")),
        "of a stranger": (401, staff_client.headers(jwt(signing_key("second"), said))),
        "who may not": (
            403,
            staff_client.headers(staff_client.token(user_permissions=["MANAGE_ORDERS", "MANAGE_APPS"])),
        ),
        "whose app may, and they may not": (403, staff_client.headers(staff_client.token(user_permissions=[]))),
        **{
            f"forged: {what}": (401, staff_client.headers(token))
            for what, token in forgeries(staff_client.key, said).items()
           if token.isascii()},
    }  # fmt: skip


@pytest.mark.threat("forged-dashboard-token", "csrf", "missing-permission")
async def test_strangers_see_and_do_nothing(staff_client: StaffClient) -> None:
    await other_store(staff_client.shop)
    payment = await staff_client.payment(1, problem="Something that strangers must not read")
    for who, (status, headers) in strangers(staff_client).items():
        for method, path in routes(staff_client, payment.order_id):
            answer = await staff_client.http.request(method, path, headers=headers)
            assert answer.status_code == status, (who, method, path)
            assert set(answer.json()) == {"detail"}
            assert set(answer.json()["detail"]) == {"code", "message"}
            assert "Something" not in answer.text
    assert staff_client.shop.gateway.requests == []


@pytest.mark.threat("forged-dashboard-token", "csrf", "missing-permission")
async def test_strangers_see_and_do_nothing_in_the_widget_either(staff_client: StaffClient) -> None:
    """The same people, who say in a form what they would say in headers; a header counts for nothing there."""
    await other_store(staff_client.shop)
    payment = await staff_client.payment(1, problem="Something that strangers must not read", source_id="T3JkZXI6MQ==")
    paths = [route.path for route in staff_client.widget.routes if isinstance(route, APIRoute)]
    assert len(paths) >= 2
    for who, (status, headers) in strangers(staff_client).items():
        token = headers.get("Authorization", "").removeprefix("Bearer ")
        form = {"saleorApiUrl": headers.get("Saleor-Api-Url", ""), "accessToken": token, "orderId": payment.source_id}
        for path in paths:
            more = {"payment": payment.order_id, "amount": "1.00", "attempt": "1"}
            answer = await staff_client.http.post(path, data=form | more, headers=staff_client.headers())
            assert answer.status_code == status, (who, path)
            assert answer.headers["content-type"].startswith("text/html")
            assert 'role="alert"' in answer.text
            assert "Something" not in answer.text
            assert "accessToken" not in answer.text
            frame = await staff_client.http.get(path, params=form | more)
            assert frame.status_code == (200 if path == ORDER_WIDGET.path else 405)
            assert "Something" not in frame.text
            assert not [
                secret for secret in (token, payment.order_id, payment.source_id) if secret and secret in frame.text
            ]
    assert staff_client.shop.gateway.requests == []


@pytest.mark.parametrize(
    ("language", "words"), [("uk", "потрібен дозвіл"), ("en-GB", "you need the permission"), ("tlh", "you need")]
)
async def test_why_not_is_said_in_the_readers_language(staff_client: StaffClient, language: str, words: str) -> None:
    headers = staff_client.headers(staff_client.token(user_permissions=[]), **{"Accept-Language": language})
    answer = await staff_client.http.get("/parts/payments", headers=headers)
    assert answer.json()["detail"]["code"] == "NOT_PERMITTED"
    assert words in answer.json()["detail"]["message"]


@pytest.mark.threat("staff-of-another-store")
async def test_the_payments_of_another_store_do_not_exist(staff_client: StaffClient) -> None:
    staff_client.permissions = ("HANDLE_PAYMENTS", "MANAGE_APPS")
    theirs = await store_payment(staff_client.services, await other_store(staff_client.shop), **names(7))
    await staff_client.payment(1)
    for method, path in routes(staff_client, theirs.order_id):
        if theirs.order_id not in path:
            continue
        answer = await staff_client.http.request(method, path, headers=staff_client.headers(), data={"from.x": "1.00"})
        assert (answer.status_code, answer.json()["detail"]["code"]) == (404, "UNKNOWN_PAYMENT"), (method, path)
    listed = (await staff_client.see("/payments")).text
    assert theirs.order_id not in listed
    assert theirs.order_id not in (await staff_client.see("/payments?search=7")).text
    async with staff_client.services.database.transaction() as session:
        aggregate = await find_by_order(session, theirs.order_id)
    assert aggregate is not None
    assert aggregate.payment.next_refund_split is None
    assert aggregate.create.polled_at is None


@pytest.mark.threat("missing-permission")
@pytest.mark.parametrize("permissions", [["HANDLE_PAYMENTS"], ["MANAGE_APPS"], ["HANDLE_PAYMENTS", "MANAGE_STAFF"]])
async def test_whoever_lacks_one_permission_sets_nothing_up(staff_client: StaffClient, permissions: list[str]) -> None:
    account = staff_client.shop.account
    headers = staff_client.headers(staff_client.token(user_permissions=permissions), **{"Accept-Language": "en"})
    for method, path in setting_up(staff_client, account.id):
        answer = await staff_client.http.request(method, path, headers=headers, data={"enabled": "no", "name": "Mine"})
        assert (answer.status_code, answer.json()["detail"]["code"]) == (403, "NOT_PERMITTED"), (method, path)
        assert "“Handle payments” and “Manage apps”" in answer.json()["detail"]["message"]
        assert account.pos_id not in answer.text
    assert await staff_client.services.accounts.all() == [account]


@pytest.mark.threat("staff-of-another-store")
async def test_the_accounts_of_another_store_do_not_exist(staff_client: StaffClient) -> None:
    theirs = await other_store(staff_client.shop)
    headers = staff_client.headers(staff_client.token(user_permissions=["HANDLE_PAYMENTS", "MANAGE_APPS"]))
    for method, path in setting_up(staff_client, theirs.id):
        answer = await staff_client.http.request(method, path, headers=headers, data={"enabled": "no", "name": "Mine"})
        assert theirs.pos_id not in answer.text
        if theirs.id in path:
            assert (answer.status_code, answer.json()["detail"]["code"]) == (404, "UNKNOWN_ACCOUNT"), (method, path)
    mapped = {"account.uah": theirs.id}
    answer = await staff_client.http.post("/parts/set-up/channels", headers=headers, data=mapped)
    assert answer.json()["detail"]["code"] == "UNKNOWN_ACCOUNT"
    assert [account for account in await staff_client.services.accounts.all() if account.id == theirs.id] == [theirs]


async def test_staff_of_the_other_store_see_theirs(staff_client: StaffClient) -> None:
    theirs = await store_payment(staff_client.services, await other_store(staff_client.shop), **names(7))
    ours = await staff_client.payment(1)
    headers = staff_client.headers(staff_client.token(iss=OTHER_STORE), saleor=OTHER_STORE)
    page = await staff_client.http.get("/parts/payments", headers=headers)
    assert theirs.order_id in page.text
    assert ours.order_id not in page.text
    assert (await staff_client.http.get(f"/parts/payments/{theirs.order_id}", headers=headers)).status_code == 200


@pytest.mark.threat("csrf")
async def test_parts_are_kept_by_nobody_and_set_no_cookie(staff_client: StaffClient) -> None:
    payment = await staff_client.payment(1)
    for path in ("/", "/payments", f"/payments/{payment.order_id}"):
        answer = await staff_client.see(path)
        assert answer.headers["cache-control"] == "no-store, no-transform"
        assert "set-cookie" not in answer.headers


@pytest.mark.threat("huge-body")
@pytest.mark.parametrize("coding", ["urlencoded", "multipart"])
async def test_a_form_is_read_up_to_the_size_that_one_can_have(staff_client: StaffClient, coding: str) -> None:
    """A thousand fields of nearly a mebibyte each would be a gigabyte of the memory of all stores."""
    fields = {f"field{number}": "x" * 200_000 for number in range(20)}
    more = (
        {"files": {name: (None, text) for name, text in fields.items()}} if coding == "multipart" else {"data": fields}
    )
    headers = staff_client.headers(**{"Accept-Language": "en"})
    answer = await staff_client.http.post("/parts/payments", headers=headers, **more)
    assert (answer.status_code, answer.json()["detail"]["code"]) == (413, "TOO_LARGE")
