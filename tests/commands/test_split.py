"""``accounts split`` and ``payments split``: a marketplace in a terminal."""

import json
from decimal import Decimal
from pathlib import Path

import pytest

from app.core.payment import Payment
from app.core.vocabulary import Kind, State
from app.services import Services
from app.store.tables import MerchantAccount
from tests.commands.books import ORDER, moment_after, operation, store_payment
from tests.commands.conftest import Shell, add_account, one_database, row_of
from tests.payments.split.people import MARKET, NAMES, POTTER, SMITH, rules

TOML = f"""
mode = "metadata"
default = "{MARKET}"
shipping = "lines"

[names]
{MARKET} = "The market"
{POTTER} = "Potter"
{SMITH} = "Smith"
"""
PERCENTAGES = {"mode": "percentages", "percentages": {POTTER: 33.35, SMITH: 66.65}}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Rules as a store owner writes them."""
    path = tmp_path / "rules.toml"
    path.write_text(TOML)
    return path


async def kept(services: Services, account: MerchantAccount) -> object:
    row = await row_of(services, account.id)
    assert row is not None
    return row.split_rules


async def test_rules_from_a_file_are_kept_and_shown_by_an_example(
    shell: Shell, services: Services, account: MerchantAccount, file: Path
) -> None:
    said = await shell("accounts", "split", "Shop", "--split-rules", str(file))
    assert said.status == 0, said.err
    told = " ".join(said.out.split())
    for words in (
        "The account was updated.",
        "shipping by the lines, in proportion",
        f"Potter {POTTER}",
        "2 mugs: 239.98 UAH, sold by Potter",
        "The shopper pays 250.97 418.31 15.69 684.97",
        "Staff refund one of the mugs 119.99 119.99",
        "a sum, for no line in 23.18 74.04 2.78 100.00",
    ):
        assert words in told, said.out
    assert await kept(services, account) == rules(
        shipping="lines", names={MARKET: "The market", POTTER: "Potter", SMITH: "Smith"}
    ).model_dump(mode="json")
    shown = (await shell("accounts", "split", "Shop", "--json")).json
    assert shown["rules"]["shipping"] == "lines"
    assert sum(shown["example"]["steps"][0]["shares"].values()) == shown["example"]["steps"][0]["amount"]


async def test_percentages_from_json_are_exact(
    shell: Shell, services: Services, account: MerchantAccount, tmp_path: Path
) -> None:
    path = tmp_path / "rules.json"
    path.write_text(json.dumps(PERCENTAGES))
    said = await shell("accounts", "split", "Shop", "--split-rules", str(path))
    assert said.status == 0, said.err
    assert f"33.35 % {POTTER}" in " ".join(said.out.split())


async def test_a_dry_run_changes_nothing_and_splitting_can_be_switched_off(
    shell: Shell, services: Services, account: MerchantAccount, file: Path
) -> None:
    said = await shell("accounts", "split", "Shop", "--split-rules", str(file), "--dry-run")
    assert "nothing was changed" in said.out
    assert await kept(services, account) is None
    assert "are not split" in (await shell("accounts", "split", "Shop")).out
    await shell("accounts", "split", "Shop", "--split-rules", str(file))
    assert "For example" not in (await shell("accounts", "split", "Shop")).out
    assert "For example" in (await shell("accounts", "split", "Shop", "--example")).out
    assert "are not split" in (await shell("accounts", "split", "Shop", "--off")).out
    assert await kept(services, account) is None


@one_database
@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('mode = "metadata"', "shipping: the default sub-merchant, but none is named"),
        ('mode = "percentages"\npercentages = {x = 100}', "percentages.x: 'x' is not a sub-merchant"),
        ("mode =", "is neither TOML nor JSON"),
        ("{", "is neither TOML nor JSON"),
        ("default = 1.0e9999999999999999999", "is neither TOML nor JSON"),
        ('{"default": 1e9999999999999999999}', "is neither TOML nor JSON"),
        (f"default = {'1' * 5000}", "is neither TOML nor JSON"),
        ('{"mode": ["off"]}', "mode: must be one of off, metadata, percentages"),
    ],
)
async def test_wrong_rules_are_told_in_a_line_and_not_kept(
    shell: Shell, services: Services, installed: int, tmp_path: Path, *, text: str, words: str
) -> None:
    account = await add_account(services, installed)
    path = tmp_path / "rules"
    path.write_text(text)
    (await shell("accounts", "split", "Shop", "--split-rules", str(path))).failed(words, status=2)
    assert await kept(services, account) is None


@one_database
async def test_a_file_that_is_not_there(shell: Shell, services: Services, installed: int, tmp_path: Path) -> None:
    await add_account(services, installed)
    missing = str(tmp_path / "none.toml")
    (await shell("accounts", "split", "Shop", "--split-rules", missing)).failed("cannot be read", status=2)
    (await shell("accounts", "split", "Shop", "--split-rules", missing, "--off")).failed("either", status=2)


async def a_split_payment(services: Services, account: MerchantAccount) -> Payment:
    """100.00 of potter and smith; 20.00 of the potter given back, 10.00 refunded in the portal."""
    await services.accounts.change(account.id, split_rules=rules(names=NAMES).model_dump(mode="json"))
    refund = operation(
        Kind.REFUND, amount=Decimal("20.00"), created_at=moment_after(minutes=5), updated_at=moment_after(minutes=5)
    )
    portal = operation(
        Kind.REFUND, amount=Decimal("10.00"), created_at=moment_after(minutes=6), updated_at=moment_after(minutes=6),
        idempotency_key="gateway:portal", asked_by_saleor=False,
    )  # fmt: skip
    create = operation(shares={POTTER: Decimal("60.00"), SMITH: Decimal("40.00")})
    refund.shares = {POTTER: Decimal("20.00")}
    return await store_payment(services, account, [create, refund, portal])


async def test_a_payment_tells_whose_money_it_is(shell: Shell, services: Services, account: MerchantAccount) -> None:
    await a_split_payment(services, account)
    said = await shell("payments", "show", ORDER, "--every-step")
    told = " ".join(said.out.split())
    for words in (
        "Sub-merchant Share Received Refunded Left",
        "Potter 60.00 60.00 25.00 35.00",
        "Smith 40.00 40.00 5.00 35.00",
        "that part is assumed, in proportion",
        "asks the gateway to refund 20.00 UAH (20.00 of Potter)",
        "that was not requested here; it is not known whose money it was",
    ):
        assert words in told, said.out
    split = (await shell("payments", "show", ORDER, "--json")).json["split"]
    assert split["left"] == {POTTER: Decimal("35.00"), SMITH: Decimal("35.00")}
    assert split["assumed"] is True
    assert [operation["known"] for operation in split["operations"]] == [True, True, False]


async def test_staff_choose_from_whom_the_next_refund_is_taken(
    shell: Shell, services: Services, account: MerchantAccount
) -> None:
    await a_split_payment(services, account)
    said = await shell("payments", "split", ORDER, "--take", "Potter=5", "--take", f"{SMITH}=15.50")
    assert said.status == 0, said.err
    assert "The next refund must be of 20.50 UAH" in said.out
    shown = (await shell("payments", "split", ORDER, "--json")).json
    assert shown["chosen_for_next_refund"] == {POTTER: Decimal("5.00"), SMITH: Decimal("15.50")}
    assert "follows the refunded lines" in (await shell("payments", "split", ORDER, "--clear")).out
    assert (await shell("payments", "split", ORDER, "--json")).json["chosen_for_next_refund"] is None


@one_database
async def test_what_cannot_be_chosen(shell: Shell, services: Services, installed: int) -> None:
    account = await add_account(services, installed)
    await a_split_payment(services, account)
    (await shell("payments", "split", ORDER, "--take", "Potter=40.01")).failed("40.00 UAH is left")
    (await shell("payments", "split", ORDER, "--take", "Potter")).failed("SUB_MERCHANT=AMOUNT", status=2)
    (await shell("payments", "split", ORDER, "--take", "Potter=NaN")).failed("SUB_MERCHANT=AMOUNT", status=2)
    twice = ("--take", "Potter=1", "--take", f"{POTTER}=2")
    (await shell("payments", "split", ORDER, *twice)).failed("SUB_MERCHANT=AMOUNT", status=2)
    (await shell("payments", "split", ORDER, "--take", "Potter=1", "--clear")).failed("either", status=2)
    await store_payment(services, account, [operation(state=State.INIT)], order_id="whole", transaction_id="2")
    (await shell("payments", "split", "whole")).failed("not split among sub-merchants")
