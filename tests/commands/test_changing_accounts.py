"""``accounts set``, ``accounts remove``, ``accounts list``."""

import re
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from app.services import Services
from app.store.tables import MerchantAccount
from tests.commands.books import store_payment
from tests.commands.conftest import (
    KEYS,
    NEW_KEYS,
    SALEOR,
    PointOfSale,
    Shell,
    add_account,
    install,
    one_database,
    row_of,
)


async def test_options_that_are_not_named_stay_as_they_are(
    shell: Shell, services: Services, account: MerchantAccount
) -> None:
    said = await shell(
        "accounts", "set", "SHOP", "--name", "Main", "--currency", "EUR", "--storefront", "https://b.example",
        "--order-timeout", "600", "--names-optional", "--disable", "--json",
    )  # fmt: skip

    assert said.status == 0, said.err
    changed = await row_of(services, account.id)
    assert changed is not None
    assert (changed.name, changed.currencies, changed.storefront_origins) == ("Main", ["EUR"], ["https://b.example"])
    assert (changed.order_timeout, changed.names_required, changed.enabled) == (600, False, False)
    assert said.json["name"] == "Main"

    said = await shell("accounts", "set", account.id, "--enable", "--names-required")
    assert "switched on" in said.out
    changed = await row_of(services, account.id)
    assert changed is not None
    assert (changed.name, changed.names_required, changed.enabled, changed.order_timeout) == ("Main", True, True, 600)
    assert changed.base_url == account.base_url


async def test_new_secrets_are_tried_out_before_they_are_kept(
    shell: Shell, services: Services, account: MerchantAccount, pos: PointOfSale
) -> None:
    said = await shell("accounts", "set", "Shop", "--rotate-secrets", **NEW_KEYS)
    said.failed("nothing was changed: the gateway at")
    assert "rejects these keys [S-404]" in said.err
    assert services.accounts.keys(account).api_secret == KEYS["GATEWAY_API_SECRET"]

    pos.keys = NEW_KEYS
    assert (await shell("accounts", "set", "Shop", "--rotate-secrets", **NEW_KEYS)).status == 0
    changed = await row_of(services, account.id)
    assert changed is not None
    keys = services.accounts.keys(changed)
    assert [keys.api_key, keys.api_secret, keys.endpoints_key] == list(NEW_KEYS.values())
    assert keys.previous_api_secret == KEYS["GATEWAY_API_SECRET"]
    assert (await shell("accounts", "check")).status == 0


async def test_a_replaced_secret_ends_when_it_is_told_to(
    shell: Shell, services: Services, account: MerchantAccount, pos: PointOfSale
) -> None:
    pos.keys = NEW_KEYS
    rotated = await shell("accounts", "set", "Shop", "--rotate-secrets", "--grace", "2", "--json", **NEW_KEYS)
    until = datetime.fromisoformat(rotated.json["old_secret_until"])
    assert timedelta(hours=1, minutes=55) < until - services.now() <= timedelta(hours=2)
    shown = (await shell("accounts", "show", "Shop")).out
    assert re.search(r"old API secret +verifies notifications until 20\d\d", shown)

    ended = await shell("accounts", "set", "Shop", "--end-grace", "--json")
    assert ended.json["old_secret_until"] is None
    changed = await row_of(services, account.id)
    assert changed is not None
    assert services.accounts.keys(changed).previous_api_secret is None
    assert (await shell("accounts", "set", "Shop", "--rotate-secrets", "--grace", "721", **NEW_KEYS)).status == 2


async def test_an_account_is_told_apart_as_test_or_live(shell: Shell, account: MerchantAccount) -> None:
    assert (await shell("accounts", "set", "Shop", "--test", "--json")).json["test_project"] is True
    assert "for a test project" in (await shell("accounts", "show", "Shop")).out
    assert (await shell("accounts", "set", "Shop", "--live", "--json")).json["test_project"] is False


async def test_one_secret_alone_can_be_replaced(
    shell: Shell, services: Services, account: MerchantAccount, pos: PointOfSale, tmp_path: Path
) -> None:
    file = tmp_path / "secrets.toml"
    file.touch(mode=0o600)
    file.write_text(f'GATEWAY_ENDPOINTS_KEY = "{NEW_KEYS["GATEWAY_ENDPOINTS_KEY"]}"')
    pos.keys["GATEWAY_ENDPOINTS_KEY"] = NEW_KEYS["GATEWAY_ENDPOINTS_KEY"]

    assert (await shell("accounts", "set", "Shop", "--secrets-file", str(file))).status == 0
    changed = await row_of(services, account.id)
    assert changed is not None
    keys = services.accounts.keys(changed)
    assert (keys.api_key, keys.endpoints_key) == (KEYS["GATEWAY_API_KEY"], NEW_KEYS["GATEWAY_ENDPOINTS_KEY"])
    assert keys.previous_api_secret is None


async def test_secrets_in_the_environment_are_left_alone_unless_asked_for(
    shell: Shell, services: Services, account: MerchantAccount
) -> None:
    assert (await shell("accounts", "set", "Shop", "--name", "Main", **NEW_KEYS)).status == 0
    changed = await row_of(services, account.id)
    assert changed is not None
    assert services.accounts.keys(changed) == services.accounts.keys(account)


async def test_a_new_address_is_tried_out_before_it_is_kept(
    shell: Shell, services: Services, account: MerchantAccount, pos: PointOfSale
) -> None:
    elsewhere = ("accounts", "set", "Shop", "--base-url", "http://127.0.0.1:9")
    (await shell(*elsewhere, "--name", "Main")).failed("this is not an interactive terminal", status=2)
    (await shell(*elsewhere, GATEWAY_API_KEY="one-of-three")).failed("give all three secrets in one place", status=2)
    tried = await shell(*elsewhere, "--name", "Main", **KEYS)
    tried.failed("nothing was changed: cannot connect to 127.0.0.1:9")
    (await shell("accounts", "set", "Shop", "--scheme-word", "OPAY")).failed("rejects these keys")
    unchanged = await row_of(services, account.id)
    assert unchanged is not None
    assert (unchanged.name, unchanged.base_url, unchanged.scheme_word) == ("Shop", pos.url, "CPAY")

    assert (await shell(*elsewhere, "--no-check", **KEYS)).status == 0
    changed = await row_of(services, account.id)
    assert changed is not None
    assert changed.base_url == "http://127.0.0.1:9"
    pos.scheme_word = "OPAY"
    back = ("accounts", "set", "Shop", "--base-url", pos.url, "--scheme-word", "OPAY")
    assert (await shell(*back, **KEYS)).status == 0


@one_database
async def test_what_cannot_be_changed(shell: Shell, services: Services, account: MerchantAccount) -> None:
    other = await add_account(services, account.installation_id, name="Other")
    (await shell("accounts", "set", "Shop")).failed("nothing to change", status=2)
    (await shell("accounts", "set", "Shp", "--enable")).failed("there is no merchant account 'Shp'")
    (await shell("accounts", "set", "Shop", "--name", "other")).failed(f"is named 'Other' ({other.id})")
    (await shell("accounts", "set", "Shop", "--currency", "€")).failed("'€' is not a currency", status=2)
    (await shell("accounts", "set", "Shop", "--rotate-secrets")).failed("this is not an interactive terminal", status=2)
    assert (await shell("accounts", "set", "Shop", "--name", "SHOP")).status == 0


@one_database
async def test_an_account_of_which_there_are_two_is_named_by_its_id(
    shell: Shell, services: Services, account: MerchantAccount
) -> None:
    twin = await add_account(services, await install(services, "https://other.example.com/graphql/"))
    said = await shell("accounts", "set", "shop", "--disable")
    said.failed(f"several merchant accounts are named 'shop': use one of their IDs ({account.id}, {twin.id})")
    assert (await shell("accounts", "set", twin.id, "--disable")).status == 0


async def test_an_account_without_payments_is_deleted(
    shell: Shell, services: Services, account: MerchantAccount
) -> None:
    await services.accounts.map_channel("default-channel", account.id)
    said = await shell("accounts", "remove", "Shop", "--yes")

    assert said.status == 0
    assert said.out == "The merchant account 'Shop' and its keys were deleted.\n"
    assert said.err == "warning: payments are no longer offered in: default-channel\n"
    assert await services.accounts.all() == []
    assert await services.accounts.routes() == []


@pytest.mark.parametrize("referred_to_by", ["payment", "notification"])
async def test_an_account_that_something_refers_to_is_kept(
    shell: Shell, services: Services, account: MerchantAccount, referred_to_by: str
) -> None:
    if referred_to_by == "payment":
        await store_payment(services, account)
    else:
        await services.inbox.store(account_id=account.id, digest="d", data="not ours", order_id="o", now=services.now())
    said = await shell("accounts", "remove", account.id, "--yes", "--json")

    assert said.json == {"id": account.id, "outcome": "disabled", "unmapped": []}
    kept = await row_of(services, account.id)
    assert kept is not None
    assert not kept.enabled
    assert "switched off. It is kept" in (await shell("accounts", "remove", account.id, "--yes")).out


@one_database
async def test_nothing_is_removed_unless_somebody_is_sure(
    shell: Shell, services: Services, account: MerchantAccount
) -> None:
    (await shell("accounts", "remove", "Shop")).failed(
        "this is not an interactive terminal: confirm with --yes", status=2
    )
    (await shell("accounts", "remove", "Shp", "--yes")).failed("there is no merchant account 'Shp'")
    assert len(await services.accounts.all()) == 1


async def test_all_accounts_are_listed(shell: Shell, services: Services, account: MerchantAccount) -> None:
    second = await install(services, "https://other.example.com/graphql/")
    other = await add_account(services, second, name="Other [bold]", currencies=["UAH", "EUR", "USD"])
    await services.accounts.change(other.id, enabled=False)
    await services.accounts.map_channel("default-channel", account.id)
    await services.accounts.map_channel("uk", account.id)

    said = await shell("accounts", "list")
    assert said.status == 0
    for words in (SALEOR, "https://other.example.com/graphql/", "Other [bold] (switched off)", account.id, other.id,
                  account.pos_id, account.base_url, "default-channel", "uk"):  # fmt: skip
        assert words in said.out
    listed = (await shell("accounts", "list", "--json")).json
    assert [(account["name"], account["channels"]) for account in listed] == [
        ("Shop", ["default-channel", "uk"]),
        ("Other [bold]", []),
    ]


@one_database
async def test_where_there_is_no_account_it_is_said_how_to_add_one(shell: Shell, services: Services) -> None:
    assert "saleor-gateway accounts add --help" in (await shell("accounts", "list")).out
    assert (await shell("accounts", "list", "--json")).json == []
