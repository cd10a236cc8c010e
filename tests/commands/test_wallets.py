"""Wallets are switched on where the gateway lets the account use them, and nowhere else."""

import pytest
from starlette.responses import JSONResponse, PlainTextResponse, Response

from app.services import Services
from app.store.tables import MerchantAccount
from tests.commands.conftest import PointOfSale, Shell, row_of

SWITCHES = {"apple_pay": "--apple-pay", "google_pay": "--google-pay"}
NOT_SET_UP = JSONResponse({"message": "Not enabled", "args": {"code": "4152"}}, 400)


@pytest.mark.parametrize("wallet", list(SWITCHES))
async def test_a_wallet_is_tried_out_when_it_is_switched_on(
    shell: Shell, services: Services, account: MerchantAccount, pos: PointOfSale, wallet: str
) -> None:
    said = await shell("accounts", "set", "Shop", SWITCHES[wallet])
    assert (said.status, pos.areas_asked) == (0, [wallet])
    assert getattr(await row_of(services, account.id), wallet) is True
    await shell("accounts", "set", "Shop", SWITCHES[wallet], "--order-timeout", "900")
    assert pos.areas_asked == [wallet]  # it is on already

    off = SWITCHES[wallet].replace("--", "--no-")
    assert (await shell("accounts", "set", "Shop", off)).status == 0
    assert getattr(await row_of(services, account.id), wallet) is False
    assert pos.areas_asked == [wallet]


@pytest.mark.parametrize("wallet", list(SWITCHES))
@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (NOT_SET_UP, "does not offer this for this point of sale [4152]: ask its support for it"),
        (PlainTextResponse("down", 503), "has problems (HTTP 503): try again later"),
    ],
)
async def test_a_wallet_that_the_account_does_not_have_stays_off(
    *,
    shell: Shell,
    services: Services,
    account: MerchantAccount,
    pos: PointOfSale,
    wallet: str,
    answer: Response,
    words: str,
) -> None:
    pos.areas[wallet] = answer
    said = await shell("accounts", "set", "Shop", SWITCHES[wallet], "--order-timeout", "900")
    said.failed("nothing was changed: ")
    assert words in said.err
    kept = await row_of(services, account.id)
    assert kept is not None
    assert (getattr(kept, wallet), kept.order_timeout) == (False, 3600)

    assert (await shell("accounts", "set", "Shop", SWITCHES[wallet], "--no-check")).status == 0
    assert getattr(await row_of(services, account.id), wallet) is True
    said = await shell("accounts", "check")
    called = {"apple_pay": "Apple Pay", "google_pay": "Google Pay"}[wallet]
    assert f"warning: {called}: " in said.err
    assert "Switch the wallet off under Options until the gateway allows it." in said.err


async def test_what_is_offered_stands_with_the_account(shell: Shell, account: MerchantAccount) -> None:
    on = ("--apple-pay", "--google-pay", "--google-pay-gateway", "example", "--no-check")
    assert (await shell("accounts", "set", "Shop", *on)).status == 0
    shown = await shell("accounts", "show", "Shop")
    assert "Apple Pay" in shown.out
    assert "Google Pay" not in shown.out  # Google's script would not know for whom to encrypt
    await shell("accounts", "set", "Shop", "--google-pay-gateway-merchant", "m-17", "--apple-pay-association", "7B22")
    shown = await shell("accounts", "show", "Shop")
    assert "Apple Pay and Google Pay" in shown.out


@pytest.mark.parametrize(
    ("flag", "value"),
    [
        ("--apple-pay-association", "x" * 16_385),
        ("--apple-pay-association", "файл"),
        ("--google-pay-gateway", "two words"),
        ("--google-pay-gateway-merchant", "x" * 101),
    ],
)
async def test_what_cannot_be_is_refused(shell: Shell, account: MerchantAccount, flag: str, value: str) -> None:
    said = await shell("accounts", "set", "Shop", flag, value)
    assert said.status == 2
    assert f"{flag} is invalid" in said.err
