"""Nobody sees a part, or does anything, without a good token of that store's own staff."""

import pytest
from fastapi.routing import APIRoute

from app.ledger.sheets import find_by_order
from tests.commands.books import a_payment
from tests.commands.conftest import one_database
from tests.dashboard.office import NEXT_DOOR, Office, names, next_door
from tests.payments.shop import SALEOR
from tests.saleor.dashboard_tokens import claims, forgeries, jwt
from tests.saleor.household import signing_key

pytestmark = one_database

Asked = tuple[str, str]


def routes(office: Office, order_id: str, account_id: str = "nobody") -> list[Asked]:
    """Return every part as method and address."""
    found = [
        (method, route.path.format(order_id=order_id, account_id=account_id))
        for router in office.parts
        for route in router.routes
        if isinstance(route, APIRoute)
        for method in route.methods or ()
    ]
    assert len(found) == sum(len(router.routes) for router in office.parts) >= 6
    return found


def setting_up(office: Office, account_id: str = "nobody") -> list[Asked]:
    """Return every part of setting the app up."""
    found = [each for each in routes(office, "nothing", account_id) if each[1].startswith("/parts/set-up")]
    assert len(found) >= 12
    return found


def strangers(office: Office) -> dict[str, tuple[int, dict[str, str]]]:
    """Return the headers of those who must not come in, and how they are answered."""
    said = claims(office.shop.clock)
    no_token = {"Saleor-Api-Url": SALEOR}
    late = office.token(exp=said["iat"] - 6)
    return {
        "nobody": (401, {}),
        "without a token": (401, no_token),
        "with a token as cookie": (401, no_token | {"Cookie": f"Authorization={office.token()}"}),
        "by another scheme": (401, no_token | {"Authorization": f"Basic {office.token()}"}),
        "without a Saleor": (401, {"Authorization": f"Bearer {office.token()}"}),
        "too late": (401, office.headers(late)),
        "of another app": (401, office.headers(office.token(app="QXBwOjI="))),
        "of another Saleor": (401, office.headers(office.token(iss=NEXT_DOOR))),
        "for another Saleor": (401, office.headers(saleor=NEXT_DOOR)),
        "for an unknown Saleor": (401, office.headers(saleor="https://unknown.example.com/graphql/")),
        "of a stranger": (401, office.headers(jwt(signing_key("second"), said))),
        "who may not": (403, office.headers(office.token(user_permissions=["MANAGE_ORDERS", "MANAGE_APPS"]))),
        "whose app may, and they may not": (403, office.headers(office.token(user_permissions=[]))),
        **{f"forged: {what}": (401, office.headers(token)) for what, token in forgeries(office.key, said).items()
           if token.isascii()},
    }  # fmt: skip


async def test_strangers_see_and_do_nothing(office: Office) -> None:
    await next_door(office.shop)
    payment = await office.payment(1, problem="Something that strangers must not read")
    for who, (status, headers) in strangers(office).items():
        for method, path in routes(office, payment.order_id):
            answer = await office.http.request(method, path, headers=headers)
            assert answer.status_code == status, (who, method, path)
            assert set(answer.json()) == {"detail"}
            assert set(answer.json()["detail"]) == {"code", "message"}
            assert "Something" not in answer.text
    assert office.shop.till.heard == []


async def test_strangers_see_and_do_nothing_in_the_widget_either(office: Office) -> None:
    """The same people, who say in a form what they would say in headers; a header counts for nothing there."""
    await next_door(office.shop)
    payment = await office.payment(1, problem="Something that strangers must not read", source_id="T3JkZXI6MQ==")
    paths = [route.path for route in office.widget.routes if isinstance(route, APIRoute)]
    assert len(paths) >= 2
    for who, (status, headers) in strangers(office).items():
        token = headers.get("Authorization", "").removeprefix("Bearer ")
        form = {"saleorApiUrl": headers.get("Saleor-Api-Url", ""), "accessToken": token, "orderId": payment.source_id}
        for path in paths:
            more = {"payment": payment.order_id, "amount": "1.00", "attempt": "1"}
            answer = await office.http.post(path, data=form | more, headers=office.headers())
            assert answer.status_code == status, (who, path)
            assert answer.headers["content-type"].startswith("text/html")
            assert 'role="alert"' in answer.text
            assert "Something" not in answer.text
            assert "accessToken" not in answer.text
            assert (await office.http.get(path)).status_code == 405
    assert office.shop.till.heard == []


@pytest.mark.parametrize(
    ("language", "words"), [("uk", "потрібен дозвіл"), ("en-GB", "you need the permission"), ("tlh", "you need")]
)
async def test_why_not_is_said_in_the_readers_language(office: Office, language: str, words: str) -> None:
    headers = office.headers(office.token(user_permissions=[]), **{"Accept-Language": language})
    answer = await office.http.get("/parts/payments", headers=headers)
    assert answer.json()["detail"]["code"] == "NOT_PERMITTED"
    assert words in answer.json()["detail"]["message"]


async def test_the_payments_of_another_store_do_not_exist(office: Office) -> None:
    office.permissions = ("HANDLE_PAYMENTS", "MANAGE_APPS")
    theirs = await a_payment(office.desk, await next_door(office.shop), **names(7))
    await office.payment(1)
    for method, path in routes(office, theirs.order_id):
        if theirs.order_id not in path:
            continue
        answer = await office.http.request(method, path, headers=office.headers(), data={"from.x": "1.00"})
        assert (answer.status_code, answer.json()["detail"]["code"]) == (404, "UNKNOWN_PAYMENT"), (method, path)
    listed = (await office.see("/payments")).text
    assert theirs.order_id not in listed
    assert theirs.order_id not in (await office.see("/payments?search=7")).text
    async with office.desk.database.transaction() as session:
        sheet = await find_by_order(session, theirs.order_id)
    assert sheet is not None
    assert sheet.payment.next_refund_split is None
    assert sheet.create.looked_at is None


@pytest.mark.parametrize("permissions", [["HANDLE_PAYMENTS"], ["MANAGE_APPS"], ["HANDLE_PAYMENTS", "MANAGE_STAFF"]])
async def test_whoever_lacks_one_permission_sets_nothing_up(office: Office, permissions: list[str]) -> None:
    account = office.shop.account
    headers = office.headers(office.token(user_permissions=permissions), **{"Accept-Language": "en"})
    for method, path in setting_up(office, account.id):
        answer = await office.http.request(method, path, headers=headers, data={"enabled": "no", "name": "Mine"})
        assert (answer.status_code, answer.json()["detail"]["code"]) == (403, "NOT_PERMITTED"), (method, path)
        assert "“Handle payments” and “Manage apps”" in answer.json()["detail"]["message"]
        assert account.pos_id not in answer.text
    assert await office.desk.accounts.all() == [account]


async def test_the_accounts_of_another_store_do_not_exist(office: Office) -> None:
    theirs = await next_door(office.shop)
    headers = office.headers(office.token(user_permissions=["HANDLE_PAYMENTS", "MANAGE_APPS"]))
    for method, path in setting_up(office, theirs.id):
        answer = await office.http.request(method, path, headers=headers, data={"enabled": "no", "name": "Mine"})
        assert theirs.pos_id not in answer.text
        if theirs.id in path:
            assert (answer.status_code, answer.json()["detail"]["code"]) == (404, "UNKNOWN_ACCOUNT"), (method, path)
    mapped = {"account.uah": theirs.id}
    answer = await office.http.post("/parts/set-up/channels", headers=headers, data=mapped)
    assert answer.json()["detail"]["code"] == "UNKNOWN_ACCOUNT"
    assert [each for each in await office.desk.accounts.all() if each.id == theirs.id] == [theirs]


async def test_staff_of_the_other_store_see_theirs(office: Office) -> None:
    theirs = await a_payment(office.desk, await next_door(office.shop), **names(7))
    ours = await office.payment(1)
    headers = office.headers(office.token(iss=NEXT_DOOR), saleor=NEXT_DOOR)
    page = await office.http.get("/parts/payments", headers=headers)
    assert theirs.order_id in page.text
    assert ours.order_id not in page.text
    assert (await office.http.get(f"/parts/payments/{theirs.order_id}", headers=headers)).status_code == 200


async def test_parts_are_kept_by_nobody_and_set_no_cookie(office: Office) -> None:
    payment = await office.payment(1)
    for path in ("/", "/payments", f"/payments/{payment.order_id}"):
        answer = await office.see(path)
        assert answer.headers["cache-control"] == "no-store"
        assert "set-cookie" not in answer.headers
