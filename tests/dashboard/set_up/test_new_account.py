"""The first step: a merchant account, tried out at the gateway before anything is saved."""

import asyncio
from dataclasses import replace
from typing import Any

import pytest
from starlette.responses import JSONResponse, PlainTextResponse

from app.flows.accounts.changes import AccountChange, change_account
from app.flows.accounts.check import CheckFailure, check_credentials
from app.rules.addresses import Addresses
from app.store.accounts import AccountRepository, NameTakenError
from app.store.tables import MerchantAccount
from app.web.dashboard.set_up.forms import KEYS as ACCOUNT_KEYS
from app.web.dashboard.set_up.forms import rule_of
from gateway_client.client import GatewayClient
from integration_base_tests.waiting import unless_it_hangs
from tests.commands.conftest import KEYS, POS_ID, PointOfSale, one_database
from tests.dashboard.dashboard_app import StaffClient, open_staff_client
from tests.dashboard.set_up.conftest import new_account


async def test_an_account_is_tried_out_and_kept(nothing: StaffClient, pos: PointOfSale) -> None:
    answer = await nothing.do("/set-up/accounts", **new_account(pos, currencies="uah, EUR", name=" Main "))

    (account,) = await nothing.services.accounts.all()
    assert answer.status_code == 200, answer.text
    assert pos.asked == [f"/api/v1/pos/{POS_ID}/orders/0"] * 2  # with these keys, and with others
    assert answer.headers["content-location"] == f"/set-up/accounts/{account.id}"
    assert "The gateway accepted these keys, and the account was saved." in answer.text
    assert (account.name, account.pos_id, account.base_url) == ("Main", POS_ID, pos.url)
    assert (account.currencies, account.storefront_origins) == (["UAH", "EUR"], ["https://shop.example.com"])
    assert account.test_project
    keys = nothing.services.accounts.keys(account)
    assert [keys.api_key, keys.api_secret, keys.endpoints_key] == list(KEYS.values())
    assert account.name in (await nothing.see("/set-up")).text


@one_database
@pytest.mark.parametrize(
    ("typed", "code", "fields"),
    [
        ({"api_secret": "not-it"}, "KEYS_REFUSED", "pos_id api_key api_secret endpoints_key"),
        ({"base_url": "http://127.0.0.1:9"}, "NO_CONNECTION", "anyway"),
        ({"base_url": "https://127.0.0.1:9"}, "NO_CONNECTION", "anyway"),
        ({"api_key": ""}, "INVALID_OPTION", "api_key"),
        ({"api_secret": "two words"}, "INVALID_OPTION", "api_secret"),
        ({"pos_id": "17"}, "INVALID_OPTION", "pos_id"),
        ({"base_url": ""}, "INVALID_OPTION", "gateway"),
        ({"base_url": "nowhere"}, "INVALID_OPTION", "base_url"),
        ({"base_url": "https://user:word@gateway.example.com"}, "INVALID_OPTION", "base_url"),
        ({"gateway": "tranzzo"}, "INVALID_OPTION", "gateway"),
        ({"gateway": "stripe", "base_url": ""}, "INVALID_OPTION", "gateway"),
        ({"scheme_word": "C PAY"}, "INVALID_OPTION", "scheme_word"),
        ({"kind": ""}, "INVALID_OPTION", "kind"),
        ({"currencies": "гривня"}, "INVALID_OPTION", "currencies"),
        ({"storefront_origins": "https://shop.example.com/uk"}, "INVALID_OPTION", "storefront_origins"),
        ({"name": "a\x1bb"}, "INVALID_OPTION", "name"),
    ],
)
async def test_what_cannot_work_is_refused_and_nothing_is_saved(
    nothing: StaffClient, pos: PointOfSale, typed: dict[str, str], code: str, fields: str
) -> None:
    answer = await nothing.do("/set-up/accounts", **new_account(pos, **typed))
    assert (answer.status_code, answer.json()["detail"]["code"]) == (422, code)
    assert list(answer.json()["detail"]["fields"]) == fields.split()
    assert await nothing.services.accounts.all() == []
    assert "two words" not in answer.text


@pytest.mark.law(16)
async def test_what_could_not_be_tested_is_saved_when_staff_say_so(nothing: StaffClient, pos: PointOfSale) -> None:
    pos.answer = PlainTextResponse("maintenance, order 0 cannot be shown", 403)
    refused = await nothing.do("/set-up/accounts", **new_account(pos))
    assert "HTTP 403: “maintenance, order 0 cannot be shown”" in refused.json()["detail"]["fields"]["anyway"]
    saved = await nothing.do("/set-up/accounts", **new_account(pos, anyway="yes"))
    assert saved.status_code == 200, saved.text
    assert "saved without a test of its keys" in saved.text
    (account,) = await nothing.services.accounts.all()
    assert account.dialect == "interface"

    path = f"/set-up/accounts/{account.id}/keys"
    new_keys = {"api_key": "new-key", "api_secret": "", "endpoints_key": "", "grace": "0"}
    assert list((await nothing.do(path, **new_keys)).json()["detail"]["fields"]) == ["anyway"]
    assert "Saved without a test" in (await nothing.do(path, **new_keys, anyway="yes")).text
    assert nothing.services.accounts.keys((await nothing.services.accounts.all())[0]).api_key == "new-key"


@one_database
async def test_empty_account_form_is_told_every_field_at_once_in_the_pages_language(nothing: StaffClient) -> None:
    headers = nothing.headers(**{"Accept-Language": "uk"})
    empty = dict.fromkeys(("gateway", "base_url", "pos_id", *ACCOUNT_KEYS, "name", "currencies"), "")
    answer = await nothing.http.post("/parts/set-up/accounts", headers=headers, data=empty)
    fields = answer.json()["detail"]["fields"]
    assert set(fields) == {"kind", "gateway", "pos_id", *ACCOUNT_KEYS, "currencies"}
    english = {str(rule_of(name)[1]) for name in fields}
    assert not english & set(fields.values())


@one_database
@pytest.mark.parametrize(
    ("in_saleor", "kept"),
    [
        ({"shop": {"name": " Троянда  й сини "}}, "Троянда й сини"),
        ({"shop": {"name": "x" * 61}}, "x" * 60),
        ({"shop": {"name": "Saleor e-commerce"}}, None),  # nobody has named it
        ({"shop": {"name": "a\x1bb"}}, None),
        ({"shop": {"name": ""}}, None),
        ({"shop": None}, None),
        ({"shop": []}, None),
        (None, None),
    ],
)
async def test_account_gets_the_shops_name_from_saleor(
    nothing: StaffClient, pos: PointOfSale, in_saleor: dict[str, object] | None, kept: str | None
) -> None:
    nothing.saleor.graphql = JSONResponse({"data": in_saleor} if in_saleor else {}, 200 if in_saleor else 503)
    answer = await nothing.do("/set-up/accounts", **new_account(pos))
    assert answer.status_code == 200, answer.text
    (account,) = await nothing.services.accounts.all()
    assert account.shop_name == kept


@one_database
async def test_all_that_cannot_be_is_told_at_once(nothing: StaffClient, pos: PointOfSale) -> None:
    typed = {"kind": "", "currencies": "гривня", "base_url": "", "gateway": "stripe", "pos_id": "17", "api_key": ""}
    answer = await nothing.do("/set-up/accounts", **new_account(pos, **typed))
    fields = answer.json()["detail"]["fields"]
    assert set(fields) == {"kind", "currencies", "gateway", "pos_id", "api_key"}
    for name, words in fields.items():
        title, rule = rule_of(name)
        assert words == rule
        assert f"{title}: {rule}" in answer.json()["detail"]["message"]


async def test_the_same_account_once_more_is_the_one_there_is(nothing: StaffClient, pos: PointOfSale) -> None:
    """Its answer was lost, and staff send the form again."""
    for _ in range(2):
        answer = await nothing.do("/set-up/accounts", **new_account(pos, name="Main"))
        assert answer.status_code == 200, answer.text
        (account,) = await nothing.services.accounts.all()
        assert answer.headers["content-location"] == f"/set-up/accounts/{account.id}"
    for other in ({"api_key": "another"}, {"currencies": "EUR"}, {"kind": "live"}):
        refused = await nothing.do("/set-up/accounts", **new_account(pos, **{"name": "Main"} | other))
        assert (refused.status_code, list(refused.json()["detail"]["fields"])) == (409, ["name"])
    assert await nothing.services.accounts.all() == [account]
    assert nothing.services.accounts.keys(account).api_key == KEYS["GATEWAY_API_KEY"]


async def test_an_account_sent_again_while_the_first_is_tested_is_added_once(
    nothing: StaffClient, pos: PointOfSale, monkeypatch: pytest.MonkeyPatch
) -> None:
    form = new_account(pos)

    async def sent_again(client: GatewayClient, base_url: str) -> CheckFailure | None:
        monkeypatch.undo()
        assert (await nothing.do("/set-up/accounts", **form)).status_code == 200
        return await check_credentials(client, base_url)

    monkeypatch.setattr("app.flows.accounts.changes.check_credentials", sent_again)
    answer = await nothing.do("/set-up/accounts", **form)
    assert answer.status_code == 200, answer.text
    assert len(await nothing.services.accounts.all()) == 1


async def test_the_same_form_twice_at_one_moment_is_one_account(
    nothing: StaffClient, pos: PointOfSale, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A double click, or two tabs: neither form was stored when the other was looked for."""
    store_together(monkeypatch, "add")
    answers = await asyncio.gather(*(nothing.do("/set-up/accounts", **new_account(pos, name="Main")) for _ in range(2)))
    (account,) = await nothing.services.accounts.all()
    for answer in answers:
        assert answer.status_code == 200, answer.text
        assert answer.headers["content-location"] == f"/set-up/accounts/{account.id}"


async def test_two_forms_with_one_name_at_one_moment_are_one_account(
    nothing: StaffClient, pos: PointOfSale, monkeypatch: pytest.MonkeyPatch
) -> None:
    store_together(monkeypatch, "add")
    forms = (new_account(pos, name="Main"), new_account(pos, name="main"))
    answers = await asyncio.gather(*(nothing.do("/set-up/accounts", **form) for form in forms))
    assert sorted(answer.status_code for answer in answers) == [200, 409]
    assert len(await nothing.services.accounts.all()) == 1


async def test_two_accounts_renamed_at_one_moment_do_not_get_one_name(
    nothing: StaffClient, pos: PointOfSale, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("Main", "Spare"):
        assert (await nothing.do("/set-up/accounts", **new_account(pos, name=name))).status_code == 200
    store_together(monkeypatch, "change_keys")
    change = AccountChange({"name": "Shop"})
    ends = await asyncio.gather(
        *(
            change_account(nothing.services, account, change, verify=False)
            for account in await nothing.services.accounts.all()
        ),
        return_exceptions=True,
    )
    assert len([end for end in ends if isinstance(end, NameTakenError)]) == 1
    assert [account.name for account in await nothing.services.accounts.all()].count("Shop") == 1


def store_together(monkeypatch: pytest.MonkeyPatch, method: str) -> None:
    """Let two calls of the method of the repository begin only when both have come so far."""
    store, both, come = getattr(AccountRepository, method), asyncio.Event(), []

    async def stored(*call: Any, **more: Any) -> MerchantAccount:
        come.append(call)
        if len(come) == 2:
            both.set()
        async with unless_it_hangs():
            await both.wait()
        account: MerchantAccount = await store(*call, **more)
        return account

    monkeypatch.setattr(AccountRepository, method, stored)


async def test_two_accounts_of_a_store_have_different_names(nothing: StaffClient, pos: PointOfSale) -> None:
    assert (await nothing.do("/set-up/accounts", **new_account(pos, name="Main"))).status_code == 200
    again = await nothing.do("/set-up/accounts", **new_account(pos, name="main"))
    assert (again.status_code, list(again.json()["detail"]["fields"])) == (409, ["name"])
    assert len(await nothing.services.accounts.all()) == 1


@one_database
async def test_refusals_are_told_in_the_readers_language(nothing: StaffClient, pos: PointOfSale) -> None:
    typed = new_account(pos, api_secret="not-it")
    headers = nothing.headers(**{"Accept-Language": "uk"})
    answer = await nothing.http.post("/parts/set-up/accounts", headers=headers, data=typed)
    assert answer.json()["detail"]["message"].startswith("Нічого не збережено: шлюз 127.0.0.1:")
    typed = new_account(pos, currencies="")
    answer = await nothing.http.post("/parts/set-up/accounts", headers=headers, data=typed)
    assert (
        answer.json()["detail"]["message"]
        == "Валюти: Пишіть кожну валюту трьома літерами, наприклад UAH; щонайменше одну."
    )


@one_database
async def test_a_private_address_is_said_with_whatever_else_is_wrong(nothing: StaffClient, pos: PointOfSale) -> None:
    shop = nothing.shop
    shop.services = replace(shop.services, addresses=Addresses("https://pay.example.com"))
    async with open_staff_client(shop) as public:
        public.permissions = nothing.permissions
        answer = await public.do("/set-up/accounts", **new_account(pos, base_url="http://10.0.0.7", pos_id="mine"))
        assert set(answer.json()["detail"]["fields"]) == {"base_url", "pos_id"}


@pytest.mark.threat("ssrf-gateway")
@one_database
@pytest.mark.parametrize(
    "address",
    ["http://10.0.0.7", "https://192.168.1.1", "http://sandbox:8200", "https://[::1]", "https://127.1", "http://127.1",
     "https://0x7f.0.0.1", "https://0177.0.0.1", "https://localhost.", "https://100.64.0.1", "https://2130706433",
     "https://[::ffff:127.0.0.1]", "https://[64:ff9b::7f00:1]"],
)  # fmt: skip
async def test_an_app_in_public_asks_no_private_network_for_its_users(
    nothing: StaffClient, pos: PointOfSale, address: str
) -> None:
    """Whoever manages a store's apps is not always whoever runs the app."""
    shop = nothing.shop
    await nothing.do("/set-up/accounts", **new_account(pos))
    (account,) = await shop.services.accounts.all()
    pos.asked.clear()
    shop.services = replace(shop.services, addresses=Addresses("https://pay.example.com"))
    async with open_staff_client(shop) as public:
        public.permissions = nothing.permissions
        for path, form in {
            "/set-up/accounts": new_account(pos, base_url=address, name="Another"),
            f"/set-up/accounts/{account.id}/gateway": {"gateway": "", "base_url": address, "scheme_word": ""},
        }.items():
            answer = await public.do(path, **form)
            assert (answer.status_code, list(answer.json()["detail"]["fields"])) == (422, ["base_url"]), answer.text
    assert pos.asked == []
    assert await shop.services.accounts.all() == [account]
