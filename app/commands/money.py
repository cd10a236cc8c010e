"""``money``: what a period has brought, by our books and by the gateway's; for people, scripts and accountants."""

import sys
from collections.abc import Sequence
from datetime import date
from typing import Annotated

import typer

from app.commands.failure import CommandFailed
from app.commands.finding import find_account, find_installation
from app.commands.opening import with_services
from app.commands.terminal import AsJson, moment, plain, say, show, show_json, table
from app.db.day_sums import Days
from app.db.tables import MerchantAccount
from app.payments.services import Services
from app.payments.staff.money import (
    LONGEST,
    Agreement,
    BothBooks,
    By,
    Figures,
    Money,
    Row,
    both_books,
    read_money,
)
from app.payments.staff.money_csv import DETAIL, label, money_csv


def money(
    *,
    since: Annotated[
        str | None,
        typer.Option(
            "--from", metavar="DAY", help="The first day (UTC); that of this month unless given.", show_default=False
        ),
    ] = None,
    until: Annotated[
        str | None,
        typer.Option("--to", metavar="DAY", help="The last day (UTC); today unless given.", show_default=False),
    ] = None,
    account: Annotated[
        str | None,
        typer.Option(metavar="ACCOUNT", help="Its id or its name; all accounts unless given.", show_default=False),
    ] = None,
    saleor: Annotated[
        str | None,
        typer.Option(metavar="URL", help="Only the accounts of a Saleor, by its address.", show_default=False),
    ] = None,
    by: Annotated[
        By | None, typer.Option(help="What sums are made by, besides the currency.", show_default="day")
    ] = None,
    as_json: AsJson = False,
    as_csv: Annotated[
        bool,
        typer.Option("--csv", help="Write CSV, for accountants: by day, account and channel unless --by is given."),
    ] = False,
) -> None:
    """Show what a period has brought: charged, refunded, charged back, fees and what is left, by both books.

    Days are those of UTC. The gateway's books are those that were compared with ours; a day that was not is never zero.
    """
    if as_csv and as_json:
        raise CommandFailed("give either --csv or --json", status=2)
    first, last = _day(since, "--from"), _day(until, "--to")

    async def read(services: Services) -> tuple[Money, BothBooks]:
        accounts = await _meant(services, account, saleor)
        today = services.now().date()
        end = last or max(today, first or today)
        days = Days(first or end.replace(day=1), end)
        if len(days) < 1:
            raise CommandFailed("the period ends before it begins", status=2)
        if len(days) > LONGEST:
            raise CommandFailed(f"a period has at most {LONGEST} days", status=2)
        return await read_money(services, accounts, days), await both_books(services, accounts)

    found, books = with_services(read)
    if as_csv:
        for some in money_csv(found, DETAIL if by is None else (by,)):
            sys.stdout.write(some)
        return
    chosen = by or By.DAY
    rows = found.rows(chosen)
    if as_json:
        show_json(_to_json(found, books, chosen, rows))
        return
    if rows:
        _show(found, chosen, rows)
    else:
        say("Nothing was charged, refunded or charged back.")
    _say_books(found, books)


async def _meant(services: Services, account: str | None, saleor: str | None) -> Sequence[MerchantAccount]:
    store = None if saleor is None else await find_installation(services, saleor)
    meant = [await find_account(services, account)] if account else await services.accounts.all()
    return [each for each in meant if store is None or each.installation_id == store.id]


def _day(text: str | None, flag: str) -> date | None:
    try:
        return None if text is None else date.fromisoformat(text)
    except ValueError:
        raise CommandFailed(f"{flag}: {text!r} is no day: write it like 2026-11-21", status=2) from None


def _show(found: Money, by: By, rows: Sequence[Row]) -> None:
    # A terminal is narrow, and most stores pay out to nobody.
    payouts = any(each.ours.payouts or each.gateway.payouts for each in rows)
    out = ["Paid out"] if payouts else []
    shown = table(by.value.capitalize(), "", "Charged", "Refunded", "Charged back", *out, "Fees", "Net")
    for column in shown.columns[2:]:
        column.justify = "right"
    for row in rows:
        name = row.currency if by is By.CURRENCY else f"{label(found, by, row.names[0])} {row.currency}"
        shown.add_row(plain(name), "ours", *_cells(row.ours, payouts=payouts))
        theirs = _cells(row.gateway, payouts=payouts) if row.days_compared else []
        style = "yellow" if row.agreement is Agreement.DIFFER else "dim"
        shown.add_row(_standing(row), "gateway", *theirs, style=style, end_section=True)
    show(shown)


def _standing(row: Row) -> str:
    if row.until is not None:
        return f"compared up to {row.until:%H:%M} only"
    if row.unreadable and not row.days_compared:
        return f"{row.unreadable} lines cannot be read"
    if row.agreement is Agreement.AGREE_SO_FAR:
        return f"both agree on {row.days_compared} of {row.days} days"
    return row.agreement.value


def _cells(figures: Figures, *, payouts: bool) -> list[str]:
    fee = f"{figures.fee:f}" + (f" ({figures.count - figures.no_fee}/{figures.count})" if figures.no_fee else "")
    sums = (figures.charged, figures.refunded, figures.charged_back, *([figures.paid_out] if payouts else []))
    return [*(f"{each:f}" for each in sums), fee, f"{figures.net:f}"]


def _say_books(found: Money, books: BothBooks) -> None:
    if found.not_compared:
        say(f"Not yet compared as a whole: {_spans(found.not_compared)}", "dim")
    if books.differences:
        say(f"The books differ in {books.differences} places: `saleor-gateway attention` says what to do.", "yellow")
    elif books.compared is not None:
        until, at = books.compared.until, books.compared.checked_at
        checked = "" if at is None else f", checked {at:%Y-%m-%d %H:%M} UTC"
        say(f"Both books agree up to {until:%Y-%m-%d %H:%M} UTC{checked}.", "dim")


def _spans(days: Sequence[date]) -> str:
    """Return days as spans, in the fewest words."""
    spans: list[list[date]] = []
    for day in days:
        if spans and (day - spans[-1][-1]).days == 1:
            spans[-1][1:] = [day]
        else:
            spans.append([day])
    return ", ".join(" to ".join(map(str, each)) for each in spans)


def _to_json(found: Money, books: BothBooks, by: By, rows: Sequence[Row]) -> dict[str, object]:
    return {
        "from": str(found.days.first),
        "to": str(found.days.last),
        "by": by.value,
        "compared_until": None if books.compared is None else moment(books.compared.until),
        "checked_at": None if books.compared is None else moment(books.compared.checked_at),
        "differences": books.differences,
        "not_compared": [str(each) for each in found.not_compared],
        "rows": [_row_to_json(found, by, each) for each in rows],
    }


def _row_to_json(found: Money, by: By, row: Row) -> dict[str, object]:
    names = {} if by is By.CURRENCY else {by.value: str(row.names[0]), "name": label(found, by, row.names[0])}
    return names | {
        "currency": row.currency,
        "ours": _figures_to_json(row.ours),
        "gateway": _figures_to_json(row.gateway) if row.days_compared else None,
        "days": row.days,
        "days_compared": row.days_compared,
        "compared_until": moment(row.until),
        "unreadable": row.unreadable,
        "books": row.agreement.value,
    }


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
