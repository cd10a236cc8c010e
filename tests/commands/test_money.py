"""``money``: an operator, a script and an accountant see what a period has brought."""

import csv
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest

from app.core.vocabulary import Kind
from app.services import Services
from app.store.tables import MerchantAccount
from gateway_client.sandbox.sandbox import Sandbox
from tests.commands.books import operation, store_payment
from tests.commands.conftest import Shell, add_account, one_database
from tests.commands.test_reconcile import MIDNIGHT, account, clock, control, known, paid, sandbox

__all__ = ["account", "clock", "control", "sandbox"]
DAY = str(MIDNIGHT.date())
YESTERDAY = str((MIDNIGHT - timedelta(days=1)).date())


async def sold(services: Services, account: MerchantAccount) -> None:
    """Yesterday somebody paid 100.00, and got 30.00 back."""
    at = MIDNIGHT - timedelta(hours=5)
    fee = {"fee": {"amount": "1.50", "currency": "UAH"}}
    rows = [
        operation(Kind.CREATE, details=fee, created_at=at, updated_at=at),
        operation(Kind.REFUND, amount=Decimal("30.00"), created_at=at, updated_at=at),
    ]
    await store_payment(
        services, account, rows, order_id="yesterday", transaction_id="1", channel="=cmd|'x'", created_at=at
    )


async def test_both_books_side_by_side(
    shell: Shell, services: Services, account: MerchantAccount, sandbox: tuple[str, Sandbox]
) -> None:
    await services.accounts.change(account.id, created_at=MIDNIGHT - timedelta(days=2))
    await sold(services, account)
    before = await shell("money", "--from", YESTERDAY, "--to", YESTERDAY)
    assert "not yet compared" in before.out
    assert "68.50" in before.out
    assert (await shell("reconcile", "run", "--from", YESTERDAY, "--to", YESTERDAY)).status == 1  # nothing of it there
    said = (await shell("money", "--from", YESTERDAY, "--to", YESTERDAY, "--json")).json
    [row] = said["rows"]
    assert row["ours"] == {
        "charged": 100, "charges": 1, "refunded": 30, "refunds": 1, "charged_back": 0, "charge_backs": 0,
        "paid_out": 0, "payouts": 0,
        "fees": Decimal("1.50"), "fees_not_known": 1, "net": Decimal("68.50"),
    }  # fmt: skip
    assert row["gateway"]["charged"] == 0
    assert (row["day"], row["books"], row["days_compared"]) == (YESTERDAY, "they differ", 1)
    assert said["differences"] == 2
    shown = (await shell("money", "--from", YESTERDAY, "--to", YESTERDAY, "--by", "account")).out
    assert "Shop UAH" in shown
    assert "they differ" in shown
    assert "The records differ in 2 places" in shown
    assert "1.50 (1/2)" in shown


async def test_books_that_agree(
    shell: Shell, services: Services, account: MerchantAccount, sandbox: tuple[str, Sandbox]
) -> None:
    paid(sandbox[1], await known(services, account))
    assert (await shell("reconcile", "run")).status == 0
    said = (await shell("money", "--json")).json
    assert said["not_compared"] == [DAY]  # it is not over
    assert said["compared_until"] is not None
    [row] = [row for row in said["rows"] if row["day"] == DAY]
    assert (row["ours"]["charged"], row["gateway"], row["books"]) == (Decimal("100.00"), None, "not yet compared")
    assert row["compared_until"] is not None
    shown = (await shell("money")).out
    assert "compared only up" in shown
    assert "Our records and the gateway's agree up to" in shown


@one_database
async def test_trials_are_apart(shell: Shell, services: Services, account: MerchantAccount) -> None:
    day: dict[str, Any] = {"created_at": MIDNIGHT, "updated_at": MIDNIGHT}
    kinds: tuple[dict[str, Any], ...] = ({}, {"channel": "", "trial": True})
    for number, different in enumerate(kinds):
        await store_payment(
            services, account, [operation(**day)], transaction_id=str(number), order_id=f"{number:032x}", **different
        )
    period = ("money", "--from", DAY, "--to", DAY)
    for grouping in ((), ("--by", "currency")):
        lines = list(csv.DictReader((await shell(*period, "--csv", *grouping)).out.splitlines()))
        assert [(line["Trials"], line["Charged"]) for line in lines] == [("", "100.00"), ("Trials", "100.00")]
    assert [line["Channel"] for line in csv.DictReader((await shell(*period, "--csv")).out.splitlines())] == [
        "default-channel", "",
    ]  # fmt: skip
    said = (await shell(*period, "--by", "currency")).out
    assert "200.00" not in said
    assert "UAH, trials" in said
    for by, expected in (("day", [100, 100]), ("currency", [100, 100]), ("receiver", [])):
        told = (await shell(*period, "--by", by, "--json")).json
        assert [row["ours"]["charged"] for row in (*told["rows"], *told["trials"])] == expected
    assert "Nothing of this money belongs to sub-merchants." in (await shell(*period, "--by", "receiver")).out
    lines = list(csv.DictReader((await shell("payments", "list", "--csv")).out.splitlines()))
    assert sorted(line["Trial"] for line in lines) == ["", "Trial"]


@pytest.mark.threat("csv-formulas")
@one_database
async def test_a_file_for_the_accountant_that_no_spreadsheet_computes(
    shell: Shell, services: Services, account: MerchantAccount
) -> None:
    await sold(services, account)
    said = await shell("money", "--from", YESTERDAY, "--to", DAY, "--csv")
    header, line = csv.reader(said.out.splitlines())
    row = dict(zip(header, line, strict=True))
    assert (row["Day (UTC)"], row["Merchant account"], row["Project"], row["Channel"]) == (
        YESTERDAY,
        "Shop",
        "Live",
        "'=cmd|'x'",
    )
    assert (row["Charged"], row["Net"], row["Charged (the gateway’s)"]) == ("100.00", "68.50", "")
    by_currency = await shell("money", "--from", YESTERDAY, "--to", DAY, "--csv", "--by", "currency")
    assert by_currency.out.splitlines()[0].startswith("Currency,Charged,")


@one_database
async def test_one_account_and_one_store_only(shell: Shell, services: Services, account: MerchantAccount) -> None:
    await sold(services, account)
    another = await add_account(services, account.installation_id, name="Another")
    words = ("money", "--from", YESTERDAY, "--to", YESTERDAY, "--json")
    assert (await shell(*words, "--account", another.name)).json["rows"] == []
    assert len((await shell(*words, "--account", "Shop")).json["rows"]) == 1
    assert len((await shell(*words, "--saleor", "https://shop.example.com")).json["rows"]) == 1
    assert "Nothing was charged" in (await shell("money", "--account", another.id)).out


@one_database
async def test_money_of_a_test_project_is_marked(shell: Shell, services: Services, account: MerchantAccount) -> None:
    await sold(services, account)
    words = ("money", "--from", YESTERDAY, "--to", YESTERDAY, "--by", "account")
    assert [row["test_project"] for row in (await shell(*words, "--json")).json["rows"]] == [False]
    assert "UAH, test" not in (await shell(*words)).out
    await services.accounts.change(account.id, test_project=True)
    assert [row["test_project"] for row in (await shell(*words, "--json")).json["rows"]] == [True]
    assert "Shop UAH, test" in (await shell(*words)).out


@one_database
@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("--from", "yesterday"), "is not a date: write it like"),
        (("--to", "2026-02-30"), "is not a date"),
        (("--from", "2026-03-02", "--to", "2026-03-01"), "ends before it starts"),
        (("--from", "2026-03-20", "--to", "2026-03-01"), "ends before it starts"),
        (("--from", "2025-01-01", "--to", "2026-03-01"), "at most 366 days"),
        (("--from", "0001-01-01", "--to", "9999-12-31"), "at most 366 days"),
        (("--json", "--csv"), "either --csv or --json"),
    ],
)
@pytest.mark.usefixtures("installed")
async def test_what_cannot_be_meant(shell: Shell, words: tuple[str, ...], why: str) -> None:
    (await shell("money", *words)).failed(why, 2)


@one_database
@pytest.mark.usefixtures("installed")
async def test_the_first_and_the_last_day_there_is(shell: Shell) -> None:
    for day in ("0001-01-01", "9999-12-31"):
        assert (await shell("money", "--from", day, "--to", day, "--json")).json["rows"] == []
