"""``accounts add``: what operators give, where secrets come from, what they are told."""

from dataclasses import replace
from pathlib import Path

import pytest

from app.rules.dialects import dialect_of
from app.services import Services
from gateway_client.dialect import PUBLIC, PartCapture, ThreeDs
from tests.commands.conftest import (
    APP,
    KEYS,
    POS_ID,
    SALEOR,
    STOREFRONT,
    PointOfSale,
    Shell,
    add_account,
    install,
    one_database,
)

ADD = ("accounts", "add", "--pos-id", POS_ID)

WORKS = {"access": "works", "why": None}


async def test_an_account_is_added_and_tried_out(
    shell: Shell, services: Services, installed: int, pos: PointOfSale
) -> None:
    said = await shell(*ADD, "--base-url", f"{pos.url}/", "--name", " Main ", "--storefront", STOREFRONT, **KEYS)

    (account,) = await services.accounts.all()
    assert said.status == 0, said.err
    assert pos.asked == [f"/api/v1/pos/{POS_ID}/orders/0"] * 2  # with these keys, and with others
    assert "The gateway accepts its keys." in said.out
    assert f"saleor-gateway channels map YOUR-CHANNEL {account.id}" in said.out
    assert "/api/webhooks/gateway/" in said.out
    assert said.err == ""
    assert (account.installation_id, account.name, account.pos_id) == (installed, "Main", POS_ID)
    assert (account.base_url, account.scheme_word) == (pos.url, "CPAY")
    assert (account.currencies, account.storefront_origins) == (["UAH"], [STOREFRONT])
    assert (account.order_timeout, account.names_required, account.enabled) == (3600, False, True)
    keys = services.accounts.keys(account)
    assert [keys.api_key, keys.api_secret, keys.endpoints_key] == list(KEYS.values())


@pytest.fixture
def pos(pos: PointOfSale) -> PointOfSale:
    """A gateway that knows only its interface, as a new account assumes of another gateway."""
    pos.plain_capture = False
    return pos


INTERFACE_POINTS = {
    "capture_endpoint": "split",
    "part_capture": "keeps_rest",
    "hold_split": "not_sent",
    "operation_products": "not_sent",
    "full_refund_amount": "not_sent",
    "page_language": "not_sent",
    "payout_3ds_bypass": "always",
    "payout_identity": "not_sent",
    "product_taxes": "object",
    "time_zone": "UTC",
}


async def test_everything_can_be_said_differently(shell: Shell, services: Services, pos: PointOfSale) -> None:
    await install(services)
    second = await install(services, "https://other.example.com/graphql/")
    pos.scheme_word = "OPAY"
    said = await shell(
        *ADD, "--saleor", "https://other.example.com", "--base-url", pos.url, "--scheme-word", "OPAY",
        "--currency", "uah", "--currency", "EUR", "--currency", "UAH", "--storefront", "HTTPS://Shop.Example.com:443/",
        "--storefront", "http://localhost:3000", "--order-timeout", "900", "--names-optional", "--json", **KEYS,
    )  # fmt: skip

    (account,) = await services.accounts.all()
    assert said.status == 0, said.err
    assert account.installation_id == second
    assert account.name == pos.url.removeprefix("http://")
    assert said.json | {"created_at": None, "updated_at": None} == {
        "id": account.id,
        "name": account.name,
        "saleor": "https://other.example.com/graphql/",
        "pos_id": POS_ID,
        "base_url": pos.url,
        "scheme_word": "OPAY",
        "test_project": False,
        "currencies": ["UAH", "EUR"],
        "storefronts": [STOREFRONT, "http://localhost:3000"],
        "shop_name": None,
        "shop_logo": None,
        "shop_color": None,
        "channels": [],
        "order_timeout": 900,
        "names_required": False,
        "payer_fee_percent": None,
        "sector": "general",
        "merchant_mcc": None,
        "description_template": None,
        "attributes": [],
        "validation_url": None,
        "products": "none",
        "receipt_delivery": None,
        "order_3ds_bypass": "always",
        "cancel_older": True,
        "pci_dss_confirmed_at": None,
        "saved_cards": False,
        "subscriptions": False,
        "apple_pay": False,
        "apple_pay_association": None,
        "google_pay": False,
        "google_pay_gateway": None,
        "google_pay_gateway_merchant": None,
        "google_pay_merchant": None,
        "dialect": {"preset": "interface", **INTERFACE_POINTS},
        "balances_url": pos.url,
        "register_url": pos.url,
        "reconcile_at": 2,
        "other_orders": [],
        "payouts": False,
        "payout_most": None,
        "payout_most_a_day": None,
        "payout_staff": [],
        "payout_staff_ids": {},
        "enabled": True,
        "old_secret_until": None,
        "notification_address": f"{APP}/api/webhooks/gateway/{account.id}",
        "created_at": None,
        "updated_at": None,
        "check": {
            "account": account.id,
            "name": account.name,
            "ok": True,
            "wrong": None,
            "warnings": [],
            "dialect": {},
            "areas": {"balances": WORKS, "register": WORKS},
        },
    }


async def test_a_known_gateway_needs_no_address(shell: Shell, services: Services, installed: int) -> None:
    said = await shell(*ADD, "--gateway", "Tranzzo", "--no-check", "--json", **KEYS)

    (account,) = await services.accounts.all()
    assert said.json["check"] is None
    assert (account.name, account.base_url, account.scheme_word) == ("Tranzzo", "https://cpay.tranzzo.com", "CPAY")
    assert (account.dialect, account.order_3ds_bypass) == ("public", "supported")


@pytest.mark.law(16)
async def test_what_the_gateway_decides_is_a_preset_with_changes(
    shell: Shell, services: Services, installed: int, pos: PointOfSale
) -> None:
    said = await shell(
        *ADD, "--base-url", pos.url, "--storefront", STOREFRONT, "--dialect", "public", "--part-capture", "keeps_rest",
        "--payout-3ds", "never", "--time-zone", "Europe/Kyiv", "--json", **KEYS,
    )  # fmt: skip
    (account,) = await services.accounts.all()
    expected = replace(
        PUBLIC, part_capture=PartCapture.KEEPS_REST, payout_3ds_bypass=ThreeDs.NEVER, time_zone="Europe/Kyiv"
    )
    assert dialect_of(account) == expected
    assert said.json["dialect"]["part_capture"] == "keeps_rest"
    assert account.order_3ds_bypass == "supported"
    shown = await shell("accounts", "show", account.id)
    assert "time_zone Europe/Kyiv" in " ".join(shown.out.split())

    await shell("accounts", "set", account.id, "--dialect", "interface", "--part-capture", "", "--no-check")
    (account,) = await services.accounts.all()
    assert dialect_of(account).part_capture is PartCapture.KEEPS_REST
    assert account.part_capture is None

    wrong = await shell("accounts", "set", account.id, "--time-zone", "Kyiv time", "--hold-split", "perhaps")
    wrong.failed("--time-zone is invalid", status=2)
    assert "--hold-split is invalid" in wrong.err


async def test_an_account_whose_keys_are_refused_stays_and_it_is_said(
    shell: Shell, services: Services, installed: int, pos: PointOfSale
) -> None:
    wrong = KEYS | {"GATEWAY_API_SECRET": "not-it"}
    said = await shell(*ADD, "--base-url", pos.url, "--storefront", STOREFRONT, **wrong)

    (account,) = await services.accounts.all()
    assert said.status == 1
    assert "rejects these keys [S-404]" in said.err
    assert f"saleor-gateway accounts set {account.id}" in said.out
    assert f"saleor-gateway accounts check {account.id}" in said.out

    again = await shell(*ADD, "--base-url", pos.url, **KEYS)
    again.failed(f"has a merchant account '{account.name}' already ({account.id})")


async def test_an_app_that_the_gateway_cannot_call_is_warned_of(shell: Shell, installed: int, pos: PointOfSale) -> None:
    said = await shell(
        *ADD,
        "--base-url",
        pos.url,
        "--storefront",
        STOREFRONT,
        APP_BASE_URL="http://shop.example.com:8100",
        **KEYS,
    )

    assert said.status == 0
    assert "warning: the gateway cannot notify http://shop.example.com:8100/api/webhooks/gateway/" in said.err
    assert "APP_BASE_URL" in said.err


async def test_a_gateway_beside_the_app_can_call_it(shell: Shell, installed: int, pos: PointOfSale) -> None:
    said = await shell(*ADD, "--base-url", pos.url, "--storefront", STOREFRONT, **KEYS, APP_BASE_URL="http://app:8100")
    assert (said.status, said.err) == (0, "")


@one_database
@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (("--gateway", "stripe"), "'stripe' is not one of tranzzo, finline"),
        (
            ("--gateway", "tranzzo", "--base-url", "https://a.example"),
            "--gateway is invalid: give either this or the address of",
        ),
        ((), "choose a gateway: --gateway tranzzo or finline, or --base-url"),
        (("--base-url", "http://gateway.example.com"), "--base-url is invalid: https, unless"),
        (("--base-url", "https://user:pass-word@gateway.example.com"), "--base-url is invalid: no query"),
        (("--gateway", "tranzzo", "--scheme-word", "C PAY"), "--scheme-word is invalid"),
        (("--gateway", "tranzzo", "--pos-id", "17"), "--pos-id is invalid: a UUID"),
        (("--gateway", "tranzzo", "--currency", "гривня"), "'ГРИВНЯ' is not a currency"),
        (("--gateway", "tranzzo", "--storefront", "shop.example.com"), "'shop.example.com' is not an origin"),
        (("--gateway", "tranzzo", "--storefront", "https://a.example/uk"), "more than an origin: write https://a.ex"),
        (("--gateway", "tranzzo", "--storefront", "https://a.example?x"), "more than an origin: write https://a.ex"),
        (("--gateway", "tranzzo", "--name", " "), "a name must have 1 to 100 printable characters"),
        (("--gateway", "tranzzo", "--name", "a\x1b[31mb"), "a name must have 1 to 100 printable characters"),
        (("--gateway", "tranzzo", "--order-timeout", "0"), "--order-timeout"),
    ],
)
async def test_what_cannot_be_right_is_refused_before_anything_is_kept(
    shell: Shell, services: Services, installed: int, words: tuple[str, ...], complaint: str
) -> None:
    said = await shell(*ADD, *words, **KEYS)

    said.failed(complaint, status=2)
    assert "pass-word" not in said.err
    assert await services.accounts.all() == []


@one_database
async def test_all_options_that_cannot_be_are_told_at_once(shell: Shell, services: Services, installed: int) -> None:
    said = await shell(*ADD, "--gateway", "tranzzo", "--currency", "гривня", "--mcc", "12", **KEYS)
    said.failed("'ГРИВНЯ' is not a currency", status=2)
    assert "--mcc is invalid" in said.err
    assert await services.accounts.all() == []


@one_database
async def test_keys_that_cannot_stand_in_a_header_are_refused_unseen(
    shell: Shell, services: Services, installed: int
) -> None:
    said = await shell(*ADD, "--gateway", "tranzzo", **KEYS | {"GATEWAY_API_SECRET": "two words"})

    said.failed("the API secret is invalid: printable ASCII without spaces", status=2)
    assert "two words" not in said.err
    assert await services.accounts.all() == []


async def test_somewhere_the_app_must_be_installed_first(shell: Shell, services: Services) -> None:
    said = await shell(*ADD, "--gateway", "tranzzo", **KEYS)

    said.failed(f"no store has installed this app yet: install it in the Saleor Dashboard, from {APP}/api/manifest")


async def test_of_several_saleors_one_must_be_named(shell: Shell, services: Services, installed: int) -> None:
    await install(services, "https://other.example.com/graphql/")

    both = f"{SALEOR}, https://other.example.com/graphql/"
    (await shell(*ADD, "--gateway", "tranzzo", **KEYS)).failed(f"choose one with --saleor ({both})")
    unknown = await shell(*ADD, "--saleor", "https://third.example.com/graphql/", "--gateway", "tranzzo", **KEYS)
    unknown.failed(f"'https://third.example.com/graphql/' has not installed this app; these have: {both}")


async def test_two_saleors_may_have_accounts_of_one_name(shell: Shell, services: Services, installed: int) -> None:
    other = await install(services, "https://other.example.com/graphql/")
    await add_account(services, other, name="Tranzzo")

    said = await shell(*ADD, "--saleor", SALEOR, "--gateway", "tranzzo", "--no-check", **KEYS)
    assert said.status == 0
    assert [account.name for account in await services.accounts.all()] == ["Tranzzo", "Tranzzo"]


async def test_nobody_is_asked_for_secrets_when_something_else_is_in_the_way(shell: Shell, services: Services) -> None:
    (await shell(*ADD, "--gateway", "tranzzo")).failed("no store has installed this app yet")


async def test_secrets_from_a_file(
    shell: Shell, services: Services, installed: int, pos: PointOfSale, tmp_path: Path
) -> None:
    file = tmp_path / "secrets.toml"
    file.write_text("# of the merchant portal\n" + "".join(f'{name} = "{value}"\n' for name, value in KEYS.items()))
    file.chmod(0o640)
    said = await shell(
        *ADD,
        "--base-url",
        pos.url,
        "--storefront",
        STOREFRONT,
        "--secrets-file",
        str(file),
        GATEWAY_API_KEY="other",
    )

    assert said.status == 0
    assert said.err == f"warning: other users of this machine can read {file}: run chmod 600 {file}\n"
    (account,) = await services.accounts.all()
    assert services.accounts.keys(account).api_key == KEYS["GATEWAY_API_KEY"]
