"""``payments show``: the timeline of one payment."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from rich.table import Table
from rich.text import Text

from app.commands.finders import find_payments
from app.commands.payment_shares import share_table, shares_to_json
from app.commands.payment_view import AnyName, payment_table, summary
from app.commands.services import with_services
from app.commands.terminal import AsJson, add_fact, fact_sheet, moment, plain, print_line, show, show_json
from app.core.notification import StoredNotification
from app.core.payment import PaymentAggregate
from app.reports.status import PendingStep, pending_steps, shown_amount, standing
from app.reports.timeline import Entry, Tone, timeline
from app.rules.balance import balance
from app.rules.problems import problem_text
from app.rules.split.rules import names_of
from app.rules.split.standing import is_split
from app.services import Services
from app.store.tables import MerchantAccount
from integration_base.amounts import format_amount

_STYLES = {Tone.NEUTRAL: "", Tone.GOOD: "green", Tone.OPEN: "yellow", Tone.BAD: "red"}


def show_payment(payment: AnyName, as_json: AsJson = False) -> None:
    """Show the timeline of a payment: requests and responses, events sent to Saleor, and what is pending.

    If several payments match (an order can have several), they are listed.
    """

    async def read(services: Services) -> _PaymentHistory | list[PaymentAggregate]:
        async with services.database.transaction() as session:
            aggregates = await find_payments(session, payment)
            aggregate = aggregates[0]
            account = await session.get_one(MerchantAccount, aggregate.payment.account_id)
        if len(aggregates) > 1:
            return aggregates
        saleor = (await services.installations.get(aggregate.payment.installation_id)).saleor_api_url
        notifications = await services.inbox.find_for_order(account.id, aggregate.payment.order_id)
        return _PaymentHistory(aggregate, account, saleor, notifications)

    found = with_services(read)
    if isinstance(found, list):
        if as_json:
            show_json([summary(each) for each in found])
            return
        show(payment_table(found))
        print_line(f"Several payments match {payment!r}: use one of their gateway orders.")
        return
    aggregate, names = found.aggregate, names_of(found.account.split_rules)
    entries, expected = timeline(aggregate, found.notifications, names), pending_steps(aggregate, found.notifications)
    if as_json:
        show_json(_to_json(found, entries, expected))
        return
    show(_facts(found))
    if (problem := problem_text(aggregate.payment)) is not None:
        show()
        show(Text(f"Problem: {plain(problem)}", "bold red"))
    if is_split(aggregate):
        show()
        show(share_table(aggregate, names))
    show()
    show(_timeline_table(entries))
    show()
    show(_expected_table(expected) if expected else "Nothing is pending.")


@dataclass(frozen=True, slots=True)
class _PaymentHistory:
    """All data that is shown of a payment."""

    aggregate: PaymentAggregate
    account: MerchantAccount
    saleor: str
    notifications: Sequence[StoredNotification]


def _to_json(history: _PaymentHistory, entries: Sequence[Entry], expected: Sequence[PendingStep]) -> dict[str, object]:
    aggregate = history.aggregate
    now = balance(aggregate.payment.flow, aggregate.operations)
    return {
        **summary(aggregate),
        "saleor": history.saleor,
        "account_name": history.account.name,
        "authorized": now.authorized,
        "possible": [action.value for action in now.actions],
        "timeline": [
            {
                "at": moment(entry.at),
                "who": entry.who.value,
                "what": entry.what,
                "words": entry.words,
                **_facts_of(entry),
            }
            for entry in entries
        ],
        "split": shares_to_json(aggregate) if is_split(aggregate) else None,
        "waiting_for": [{"words": step.words, "until": moment(step.until)} for step in expected],
    }


def _facts_of(entry: Entry) -> dict[str, object]:
    return {name: moment(fact) if isinstance(fact, datetime) else fact for name, fact in entry.facts.items()}


def _facts(history: _PaymentHistory) -> Table:
    aggregate, account, payment = history.aggregate, history.account, history.aggregate.payment
    now = balance(payment.flow, aggregate.operations)
    facts = fact_sheet()
    add_fact(facts, "payment", f"{shown_amount(aggregate)}: {standing(aggregate)}", "bold")
    add_fact(facts, "gateway order", payment.order_id)
    add_fact(facts, "transaction", payment.transaction_id)
    number = f"order {payment.order_number}, " if payment.order_number else ""
    add_fact(facts, "Saleor", f"{history.saleor} ({number}channel {payment.channel})")
    add_fact(facts, "account", f"{account.name} ({account.id})")
    reserved = f"{format_amount(now.authorized)} authorized, " if now.authorized else ""
    add_fact(facts, "money", f"{reserved}{format_amount(now.taken)} charged, {format_amount(now.returned)} refunded")
    possible = ", ".join(action.value.lower() for action in now.actions)
    add_fact(facts, "possible actions", possible or "none")
    return facts


def _timeline_table(entries: Sequence[Entry]) -> Table:
    lines = Table.grid(padding=(0, 2))
    lines.add_column(no_wrap=True, style="dim")
    lines.add_column(no_wrap=True)
    lines.add_column(overflow="fold")
    day = None
    for entry in entries:
        if entry.at.date() != day:
            day = entry.at.date()
            lines.add_row(f"{day:%Y-%m-%d}", Text("UTC", "dim"), "")
        lines.add_row(f"  {entry.at:%H:%M:%S}", entry.who.value, Text(plain(entry.words), _STYLES[entry.tone]))
    return lines


def _expected_table(expected: Sequence[PendingStep]) -> Table:
    rows = Table.grid(padding=(0, 2))
    rows.add_column(no_wrap=True, style="dim")
    rows.add_column(overflow="fold")
    rows.add_row(Text("Waiting for", "bold"), "")
    for step in expected:
        until = f"{step.until:%Y-%m-%d %H:%M:%S}" if step.until else ""
        rows.add_row(f"  {until}", Text(plain(step.words), "yellow"))
    return rows
