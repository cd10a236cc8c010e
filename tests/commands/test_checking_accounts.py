"""``accounts check``: one harmless call, and what is wrong in words."""

from dataclasses import replace

import httpx2
import pytest
from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, RedirectResponse, Response

from app.flows.accounts.check import FailureReason, check_credentials, describe_failure
from app.services import Services
from app.store.tables import MerchantAccount
from gateway_client.client import GatewayClient
from gateway_client.credentials import Credentials
from gateway_client.errors import OutcomeUnknownError
from tests.commands.conftest import KEYS, NEW_KEYS, POS_ID, PointOfSale, Shell, add_account, one_database
from tests.payments.fake_gateway import payment


async def test_an_account_that_works(shell: Shell, services: Services, account: MerchantAccount) -> None:
    await services.accounts.map_channel("default-channel", account.id)

    said = await shell("accounts", "check")
    assert (said.status, said.err) == (0, "")
    assert said.out == (
        f"Shop ({account.id}): the gateway accepts its keys\npayments: works, balances: works, the register: works\n"
    )
    said = await shell("accounts", "check", "shop", "--json")
    works = {"access": "works", "why": None}
    assert said.json == [
        {
            "account": account.id,
            "name": "Shop",
            "ok": True,
            "wrong": None,
            "warnings": [],
            "dialect": {},
            "areas": {"balances": works, "register": works},
        }
    ]


async def test_what_keys_that_work_may_not_do_is_said_with_what_is_missed(
    shell: Shell, services: Services, account: MerchantAccount, pos: PointOfSale
) -> None:
    await services.accounts.map_channel("default-channel", account.id)
    pos.areas["balances"] = JSONResponse({"message": "no", "args": {"code": "S-403"}}, 401)
    pos.areas["register"] = PlainTextResponse("down", 503)
    said = await shell("accounts", "check")
    assert said.status == 0, "payments work"
    assert "payments: works, balances: not permitted, the register: not reachable" in said.out
    assert "warning: balances: not permitted: the gateway at 127.0.0.1" in said.err
    assert "does not allow these keys to use this area [S-403]: ask its support to allow it" in said.err
    assert "cannot warn you before a refund" in said.err
    assert "has problems (HTTP 503): try again later. Without it, you cannot download the register" in said.err
    [found] = (await shell("accounts", "check", "--json")).json
    assert found["ok"] is True
    assert [area["access"] for area in found["areas"].values()] == ["not permitted", "not reachable"]


@pytest.mark.law(16)
async def test_what_the_gateway_decides_otherwise_is_found_and_proposed(
    shell: Shell, services: Services, account: MerchantAccount, pos: PointOfSale
) -> None:
    """The account says that there is a path for charges that are not split; nothing is changed by itself."""
    await services.accounts.map_channel("default-channel", account.id)
    pos.plain_capture = False
    said = await shell("accounts", "check")
    assert said.status == 0
    assert "warning: the gateway has no address /api/v1/capture" in said.err
    assert f"accounts set {account.id} --capture-endpoint split" in said.err
    [found] = (await shell("accounts", "check", "--json")).json
    assert (found["ok"], found["dialect"]) == (True, {"capture_endpoint": "split"})
    await shell("accounts", "set", account.id, "--capture-endpoint", "split")
    assert (await shell("accounts", "check")).err == ""
    pos.plain_capture = True
    assert "which the account does not use" in (await shell("accounts", "check")).err


async def test_of_wrong_keys_nothing_else_is_asked(shell: Shell, account: MerchantAccount, pos: PointOfSale) -> None:
    pos.keys = dict(NEW_KEYS)
    [found] = (await shell("accounts", "check", "--json")).json
    assert (found["ok"], found["areas"]) == (False, {})
    assert pos.areas_asked == []


async def test_what_will_be_missed_is_warned_of(shell: Shell, services: Services, account: MerchantAccount) -> None:
    await services.accounts.change(account.id, enabled=False, storefront_origins=[])
    said = await shell("accounts", "check", account.id, "--json", APP_BASE_URL="https://payments.example.com:9443")

    assert said.status == 0
    (found,) = said.json
    unreachable, off, channel, storefront = found["warnings"]
    assert f"cannot notify https://payments.example.com:9443/api/webhooks/gateway/{account.id}" in unreachable
    assert "port 443 or 8443" in unreachable
    assert "switched off" in off
    assert f"saleor-gateway channels map CHANNEL {account.id}" in channel
    assert f"saleor-gateway accounts set {account.id} --storefront" in storefront


async def test_one_of_several_that_does_not_work_is_enough_to_fail(
    shell: Shell, services: Services, account: MerchantAccount, pos: PointOfSale
) -> None:
    other = await add_account(services, account.installation_id, name="Other", base_url="http://127.0.0.1:9")
    off = await add_account(services, account.installation_id, name="Old")
    await services.accounts.change(off.id, enabled=False)
    said = await shell("accounts", "check")

    assert said.status == 1
    assert f"Shop ({account.id}): the gateway accepts its keys" in said.out
    assert (
        f"error: Other ({other.id}): cannot connect to 127.0.0.1:9 (it refuses the connection): check the address"
        in said.err
    )
    assert "Old" not in said.out + said.err
    assert [account["ok"] for account in (await shell("accounts", "check", "--json")).json] == [True, False]


@one_database
async def test_nothing_to_check_is_no_success(shell: Shell, services: Services, installed: int) -> None:
    (await shell("accounts", "check")).failed("no merchant account is switched on")
    (await shell("accounts", "check", "Shop")).failed(
        "there is no merchant account 'Shop': `saleor-gateway accounts list`"
    )


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (None, None),
        (JSONResponse([payment("0", amount=1)]), None),  # whom it shows an order, it knows
        (JSONResponse([]), "gives the same response to any keys, so these could not be checked"),
        (
            JSONResponse({"message": "no", "args": {"code": "S-401"}}, 401),
            "rejects these keys [S-401]: compare the poi",
        ),
        (JSONResponse({}, 401), "rejects these keys: compare"),
        (
            JSONResponse({"message": "slow down"}, 429),
            "is busy, so the keys could not be checked: try again in a minute",
        ),
        (
            JSONResponse({"message": "slow down"}, 429, {"Retry-After": "600"}),
            "is busy for a while, so the keys could not be checked: try again later",
        ),
        (
            PlainTextResponse("down", 503),
            "has problems (HTTP 503: “down”), so the keys could not be checked: try again later",
        ),
        (PlainTextResponse("late", 408), "has problems (HTTP 408: “late”)"),
        (
            RedirectResponse("https://gateway.example.com/"),
            "redirects elsewhere (HTTP 307): this is not the address",
        ),
        (HTMLResponse("<h1>Hello</h1>"), "is not the gateway (HTTP 200): check the address"),
        (HTMLResponse("<h1>Not here</h1>", 404), "is not the gateway (HTTP 404: “Not here”): check the address"),
        (HTMLResponse("<h1>Keep out</h1>", 403), "is not the gateway (HTTP 403: “Keep out”): check the address"),
        (JSONResponse({}), "is not the gateway (HTTP 200): check the address"),
        (
            JSONResponse({"message": "no Route matched"}, 404),
            "is not the gateway (HTTP 404: “no Route matched”): check the address",
        ),
        (
            JSONResponse({"message": "Not Found", "args": {"code": "R-404"}}, 404),
            "gives the same response to any keys, so these could not be checked",
        ),
        (
            JSONResponse({"message": "The terminal is closed.", "args": {"code": "P-412"}}, 400),
            "refuses to look up an order: The terminal is closed (HTTP 400) [P-412]",
        ),
    ],
)
async def test_each_answer_has_its_words(pos: PointOfSale, answer: Response | None, words: str | None) -> None:
    pos.answer = answer
    pos.areas = {} if answer is None else {"balances": JSONResponse({"accounts": []})}  # to whatever keys
    async with httpx2.AsyncClient(trust_env=False) as http:
        wrong = await check_credentials(GatewayClient(http, _credentials(pos.url)), pos.url)

    if words is None:
        assert wrong is None
    else:
        assert words in str(wrong)
        assert pos.url.removeprefix("http://") in str(wrong)


NO_SUCH_ORDER = {
    "the public form": JSONResponse({"message": "Order not found", "args": {"code": "P-404"}}, 404),
    "the form of the interface": JSONResponse({"message": "unknown order", "code": "no_order"}, 404),
    "a list without records": JSONResponse([]),
    "words of a framework": JSONResponse({"error": "Not Found", "path": "/orders/0"}, 404),
    "plain text": PlainTextResponse("no order 0", 404),
    "an invalid request": JSONResponse({"message": "order 0 does not exist", "code": "bad_request"}, 400),
}
REFUSED_KEYS = {
    "the public form": JSONResponse({"message": "Invalid credentials", "args": {"code": "S-404"}}, 401),
    "the form of the interface": JSONResponse({"message": "invalid credentials", "code": "unauthorized"}, 401),
    "nothing": Response(None, 401),
    "plain text": PlainTextResponse("Unauthorized", 401),
}


@pytest.mark.law(16)
@pytest.mark.parametrize("to_others", REFUSED_KEYS.values(), ids=REFUSED_KEYS)
@pytest.mark.parametrize("no_order", NO_SUCH_ORDER.values(), ids=NO_SUCH_ORDER)
async def test_right_keys_are_right_and_wrong_ones_wrong_in_whatever_words(
    pos: PointOfSale, no_order: Response, to_others: Response
) -> None:
    pos.no_order, pos.to_others = no_order, to_others
    async with httpx2.AsyncClient(trust_env=False) as http:
        right = _credentials(pos.url)
        assert await check_credentials(GatewayClient(http, right), pos.url) is None
        for wrong in (replace(right, api_secret="wrong"), replace(right, endpoints_key="wrong")):
            failure = await check_credentials(GatewayClient(http, wrong), pos.url)
            assert failure is not None
            assert (failure.what, failure.may_be_wrong) == (FailureReason.KEYS_REFUSED, False)


@pytest.mark.law(16)
@pytest.mark.parametrize("answer", NO_SUCH_ORDER.values(), ids=NO_SUCH_ORDER)
async def test_where_nobody_is_told_of_the_keys_balances_prove_them(pos: PointOfSale, answer: Response) -> None:
    pos.no_order = pos.to_others = answer
    async with httpx2.AsyncClient(trust_env=False) as http:
        right = _credentials(pos.url)
        assert await check_credentials(GatewayClient(http, right), pos.url) is None
        failure = await check_credentials(GatewayClient(http, replace(right, api_secret="wrong")), pos.url)
        assert failure is not None
        assert failure.may_be_wrong


def test_a_silence_has_its_words() -> None:
    wrong = describe_failure(OutcomeUnknownError("the request left and no answer came back"), "a.example")
    assert "gives no response" in str(wrong)


def _credentials(base_url: str) -> Credentials:
    return Credentials(
        pos_id=POS_ID,
        api_key=KEYS["GATEWAY_API_KEY"],
        api_secret=KEYS["GATEWAY_API_SECRET"],
        endpoints_key=KEYS["GATEWAY_ENDPOINTS_KEY"],
        base_url=base_url,
    )
