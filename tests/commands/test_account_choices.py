"""What a store can choose of an account's payments, on the command line."""

from datetime import UTC, datetime, timedelta

import pytest

from app.services import Services
from app.store.tables import MerchantAccount, ProductsForm
from tests.commands.conftest import KEYS, POS_ID, PointOfSale, Shell, add_account, one_database, row_of

CHOSEN = (
    "--sector", "gambling", "--mcc", "7995", "--description", "Bet {order}", "--products", "fiscal",
    "--receipt", "email", "--3ds", "always", "--keep-older", "--confirm-pci-dss", "--register-url", "https://register.example",
)  # fmt: skip


async def found(services: Services, account_id: str) -> MerchantAccount:
    row = await row_of(services, account_id)
    assert row is not None
    return row


async def test_an_account_is_added_with_what_was_chosen(
    shell: Shell, services: Services, installed: int, pos: PointOfSale
) -> None:
    said = await shell(
        "accounts", "add", "--pos-id", POS_ID, "--base-url", pos.url, *CHOSEN, "--balances-url", pos.url,
        "--json", **KEYS,
    )  # fmt: skip
    assert said.status == 0, said.err
    row = await found(services, said.json["id"])
    assert (row.sector, row.merchant_mcc, row.description_template) == ("gambling", "7995", "Bet {order}")
    assert (row.products, row.receipt_delivery, row.order_3ds_bypass) == (ProductsForm.FISCAL, "email", "always")
    assert row.cancel_older is False
    assert row.pci_dss_confirmed_at is not None
    assert abs(datetime.now(UTC) - row.pci_dss_confirmed_at) < timedelta(minutes=5)
    assert (row.balances_url, row.register_url) == (pos.url, "https://register.example")


async def test_an_account_of_a_known_gateway_has_its_addresses(
    shell: Shell, services: Services, installed: int
) -> None:
    said = await shell("accounts", "add", "--pos-id", POS_ID, "--gateway", "tranzzo", "--no-check", "--json", **KEYS)
    row = await found(services, said.json["id"])
    assert (row.base_url, row.balances_url) == ("https://cpay.tranzzo.com", "https://api.tranzzo.com")
    assert row.register_url is None
    assert (said.json["register_url"], said.json["cancel_older"]) == ("https://cpay.tranzzo.com", True)
    credentials = services.gateways.credentials(row)
    assert (credentials.balances_url, credentials.register_url) == (
        "https://api.tranzzo.com",
        "https://cpay.tranzzo.com",
    )


async def test_a_new_gateway_brings_its_own_addresses(
    shell: Shell, services: Services, account: MerchantAccount
) -> None:
    move = ("accounts", "set", "Shop", "--no-check")
    assert (
        await shell(*move, "--gateway", "tranzzo", "--register-url", "https://register.example", **KEYS)
    ).status == 0
    row = await found(services, account.id)
    assert (row.balances_url, row.register_url) == ("https://api.tranzzo.com", "https://register.example")

    assert (await shell(*move, "--base-url", account.base_url, **KEYS)).status == 0
    row = await found(services, account.id)
    assert (row.balances_url, row.register_url) == (None, None)


async def test_an_address_alone_can_be_changed(shell: Shell, services: Services, account: MerchantAccount) -> None:
    change = ("accounts", "set", "Shop", "--balances-url", "https://balances.example/")
    (await shell(*change)).failed("this is not an interactive terminal", status=2)
    assert (await shell(*change, **KEYS)).status == 0
    row = await found(services, account.id)
    assert (row.base_url, row.balances_url) == (account.base_url, "https://balances.example")
    assert (await shell("accounts", "set", "Shop", "--balances-url", "")).status == 0
    assert (await found(services, account.id)).balances_url is None


async def test_everything_chosen_is_shown(shell: Shell, account: MerchantAccount) -> None:
    assert (await shell("accounts", "set", "Shop", *CHOSEN, **KEYS)).status == 0
    said = await shell("accounts", "show", "shop")
    words = " ".join(said.out.split())
    for told in ("gambling, category 7995", "Bet {order}", "for fiscal receipts", "by email", "always", "stay open"):
        assert told in words
    assert "PCI DSS confirmed on 20" in words
    assert "registers from https://register.example" in words

    assert (await shell("accounts", "set", "Shop", "--no-direct-cards", "--mcc", "", "--receipt", "")).status == 0
    told = (await shell("accounts", "show", account.id, "--json")).json
    assert (told["pci_dss_confirmed_at"], told["merchant_mcc"], told["receipt_delivery"]) == (None, None, None)
    assert (await shell("accounts", "list", "--json")).json == [told]


@one_database
@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("--sector", "casino"), ("--mcc", "12"), ("--description", "{name}"), ("--products", "some"),
        ("--receipt", "pigeon"), ("--3ds", "maybe"), ("--balances-url", "ftp://x"), ("--register-url", "http://x.example"),
    ],
)  # fmt: skip
async def test_a_value_that_cannot_be_is_refused_with_the_options_name(
    shell: Shell, services: Services, installed: int, option: str, value: str
) -> None:
    account = await add_account(services, installed)
    (await shell("accounts", "set", "Shop", option, value)).failed(option, status=2)
    assert (await found(services, account.id)).updated_at == account.updated_at
