"""``money``: the proceeds of a period, by our books and by the gateway's; for people, scripts and accountants."""

from collections.abc import Sequence
from datetime import date
from typing import Annotated

import typer

from app.commands import sheets
from app.commands.arguments import build_backwards_error
from app.commands.failure import CommandFailed
from app.commands.finders import find_account, find_installation
from app.commands.interruption import run_until_interrupted
from app.commands.messages import figure_text
from app.commands.services import with_services
from app.commands.terminal import AsJson, moment, plain, print_line, show, show_json, table
from app.reports.money import (
    MAX_DAYS,
    Agreement,
    BooksComparison,
    Figures,
    GroupBy,
    MoneyReport,
    MoneyRow,
    read_books_comparison,
    read_money,
)
from app.reports.money_rows import DEFAULT_GROUPING, label, money_batches
from app.services import Services
from app.store.day_sums import Days
from app.store.tables import MerchantAccount


def money(
    *,
    since: Annotated[
        str | None,
        typer.Option(
            "--from",
            metavar="DAY",
            help="The first day (UTC). Default: the first day of this month.",
            show_default=False,
        ),
    ] = None,
    until: Annotated[
        str | None,
        typer.Option("--to", metavar="DAY", help="The last day (UTC). Default: today.", show_default=False),
    ] = None,
    account: Annotated[
        str | None,
        typer.Option(metavar="ACCOUNT", help="The account's ID or name. Default: all accounts.", show_default=False),
    ] = None,
    saleor: Annotated[
        str | None,
        typer.Option(metavar="URL", help="Only accounts of the store at this Saleor API URL.", show_default=False),
    ] = None,
    by: Annotated[
        GroupBy | None, typer.Option(help="How to group the totals, besides by currency.", show_default="day")
    ] = None,
    as_json: AsJson = False,
    as_csv: Annotated[
        bool,
        typer.Option("--csv", help="Write CSV for accountants, by day, account and channel unless you give --by."),
    ] = False,
    as_xlsx: sheets.AsXlsx = False,
    language: sheets.InLanguage = sheets.DEFAULT_LANGUAGE,
    time_zone: sheets.InZone = sheets.DEFAULT_ZONE,
) -> None:
    """Show the money of a period: charged, refunded, charged back, fees and net, by our records and the gateway's.

    Days are in UTC. Gateway figures cover only records compared with ours; a day not compared is never shown as zero.
    """
    form, style = sheets.chosen_form(as_csv=as_csv, as_xlsx=as_xlsx), sheets.read_style(language, time_zone)
    if form and as_json:
        raise CommandFailed(f"use either --{form} or --json", status=2)
    first, last = _day(since, "--from"), _day(until, "--to")

    async def read(services: Services) -> tuple[MoneyReport, BooksComparison]:
        accounts = await _select_accounts(services, account, saleor)
        today = services.now().date()
        end = last or max(today, first or today)
        days = Days(first or end.replace(day=1), end)
        if days.last < days.first:
            raise build_backwards_error()
        if len(days) > MAX_DAYS:
            raise CommandFailed(f"a period can have at most {MAX_DAYS} days", status=2)
        return await read_money(services, accounts, days), await read_books_comparison(services, accounts)

    found, books = with_services(read)
    if form:
        grouping = DEFAULT_GROUPING if by is None else (by,)
        run_until_interrupted(sheets.write_sheet(money_batches(found, grouping, style), form, style))
        return
    chosen = by or GroupBy.DAY
    rows = found.rows_and_trials(chosen)
    if as_json:
        show_json(_to_json(found, books, chosen, rows))
        return
    if rows:
        _print_rows(found, chosen, rows)
    elif chosen is GroupBy.RECEIVER and found.ours:
        print_line("Nothing of this money belongs to sub-merchants.")
    else:
        print_line("Nothing was charged, refunded or charged back.")
    _print_books(found, books)


async def _select_accounts(services: Services, account: str | None, saleor: str | None) -> Sequence[MerchantAccount]:
    store = None if saleor is None else await find_installation(services, saleor)
    meant = await services.accounts.all() if account is None else [await find_account(services, account)]
    return [account for account in meant if store is None or account.installation_id == store.id]


def _day(text: str | None, flag: str) -> date | None:
    try:
        return None if text is None else date.fromisoformat(text)
    except ValueError:
        raise CommandFailed(f"{flag}: {text!r} is not a date: write it like 2026-11-21", status=2) from None


def _print_rows(found: MoneyReport, by: GroupBy, rows: Sequence[tuple[MoneyRow, bool]]) -> None:
    # A terminal is narrow, and most stores make no payouts.
    payouts = any(row.ours.payouts or row.gateway.payouts for row, _ in rows)
    out = ["Paid out"] if payouts else []
    figures = ("Charged", "Refunded", "Charged back", *out, "Fees", "Net")
    lines = table(by.value.capitalize(), "", *figures, amounts=figures)
    for row, is_trial in rows:
        name = row.currency if by is GroupBy.CURRENCY else f"{label(found, by, row.names[0])} {row.currency}"
        name += ", trials" if is_trial else ""
        name += ", test project" if by is GroupBy.ACCOUNT and row.names[0] in found.tests else ""
        lines.add_row(plain(name), "ours", *_cells(row.ours, row.currency, payouts=payouts))
        theirs = _cells(row.gateway, row.currency, payouts=payouts) if row.days_compared else []
        style = "yellow" if row.agreement is Agreement.DIFFER else "dim"
        lines.add_row(_describe_agreement(row), "gateway", *theirs, style=style, end_section=True)
    show(lines)


def _describe_agreement(row: MoneyRow) -> str:
    if row.until is not None:
        return f"compared only up to {row.until:%H:%M}"
    if row.unreadable and not row.days_compared:
        return f"{row.unreadable} unreadable lines"
    if row.agreement is Agreement.AGREE_SO_FAR:
        return f"both agree on {row.days_compared} of {row.days} days"
    return row.agreement.value


def _cells(figures: Figures, currency: str, *, payouts: bool) -> list[str]:
    out = [figures.paid_out] if payouts else []
    *sums, fee, net = (
        figure_text(amount, currency)
        for amount in (figures.charged, figures.refunded, figures.charged_back, *out, figures.fee, figures.net)
    )
    known = f" ({figures.count - figures.no_fee}/{figures.count})" if figures.no_fee else ""
    return [*sums, fee + known, net]


def _print_books(found: MoneyReport, books: BooksComparison) -> None:
    if found.not_compared:
        print_line(f"Not fully compared yet: {_spans(found.not_compared)}", "dim")
    if books.differences:
        print_line(
            f"The records differ in {books.differences} places: `saleor-gateway attention` shows what to do.", "yellow"
        )
    elif books.compared is not None:
        until, at = books.compared.until, books.compared.checked_at
        checked = "" if at is None else f", checked {at:%Y-%m-%d %H:%M} UTC"
        print_line(f"Our records and the gateway's agree up to {until:%Y-%m-%d %H:%M} UTC{checked}.", "dim")


def _spans(days: Sequence[date]) -> str:
    """Return the days as text, with consecutive days merged into spans."""
    spans: list[list[date]] = []
    for day in days:
        if spans and (day - spans[-1][-1]).days == 1:
            spans[-1][1:] = [day]
        else:
            spans.append([day])
    return ", ".join(" to ".join(map(str, span)) for span in spans)


def _to_json(
    found: MoneyReport, books: BooksComparison, by: GroupBy, rows: Sequence[tuple[MoneyRow, bool]]
) -> dict[str, object]:
    return {
        "from": str(found.days.first),
        "to": str(found.days.last),
        "by": by.value,
        "compared_until": None if books.compared is None else moment(books.compared.until),
        "checked_at": None if books.compared is None else moment(books.compared.checked_at),
        "differences": books.differences,
        "not_compared": [str(day) for day in found.not_compared],
        "rows": [_row_to_json(found, by, row) for row, is_trial in rows if not is_trial],
        "trials": [_row_to_json(found, by, row) for row, is_trial in rows if is_trial],
    }


def _row_to_json(found: MoneyReport, by: GroupBy, row: MoneyRow) -> dict[str, object]:
    names = {} if by is GroupBy.CURRENCY else {by.value: str(row.names[0]), "name": label(found, by, row.names[0])}
    project = {"test_project": row.names[0] in found.tests} if by is GroupBy.ACCOUNT else {}
    return (
        names
        | project
        | {
            "currency": row.currency,
            "ours": _figures_to_json(row.ours),
            "gateway": _figures_to_json(row.gateway) if row.days_compared else None,
            "days": row.days,
            "days_compared": row.days_compared,
            "compared_until": moment(row.until),
            "unreadable": row.unreadable,
            "books": row.agreement.value,
        }
    )


def _figures_to_json(figures: Figures) -> dict[str, object]:
    return {
        "charged": figures.charged,
        "charges": figures.charges,
        "refunded": figures.refunded,
        "refunds": figures.refunds,
        "charged_back": figures.charged_back,
        "charge_backs": figures.charge_backs,
        "paid_out": figures.paid_out,
        "payouts": figures.payouts,
        "fees": figures.fee,
        "fees_not_known": figures.no_fee,
        "net": figures.net,
    }
