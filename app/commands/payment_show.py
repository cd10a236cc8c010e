"""``payments show``: the timeline of one payment."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated

import typer
from rich.table import Table
from rich.text import Text

from app.commands.finders import find_payments
from app.commands.messages import figure_text, message_text
from app.commands.payment_shares import share_table, shares_to_json
from app.commands.payment_view import AnyName, payment_amount, payment_table, summary
from app.commands.services import with_services
from app.commands.terminal import AsJson, add_fact, fact_sheet, grid, moment, print_line, show, show_json
from app.core.notification import StoredNotification
from app.core.payment import PaymentAggregate
from app.i18n.translation import ENGLISH, translation
from app.reports.status import PendingStep, pending_steps, standing
from app.reports.timeline import Entry, Tone, timeline
from app.rules.balance import balance
from app.rules.problems import problem_messages
from app.rules.split.rules import names_of
from app.rules.split.standing import is_split
from app.rules.subscription import Schedule, requested_schedule
from app.services import Services
from app.store.tables import MerchantAccount

_MOMENT = "%Y-%m-%d %H:%M:%S"
_STYLES = {Tone.NEUTRAL: "", Tone.GOOD: "green", Tone.OPEN: "yellow", Tone.BAD: "red"}


def show_payment(
    payment: AnyName,
    every_step: Annotated[
        bool, typer.Option("--every-step", help="Also steps that need nobody's attention while all goes well.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Show a payment as its page in the Dashboard does: what was done, the newest first, and what is pending.

    Times are in UTC. If several payments match (an order can have several), they are listed.
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
            show_json([summary(payment_aggregate) for payment_aggregate in found])
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
    for problem in problem_messages(aggregate.payment):
        show()
        show(Text(f"Problem: {message_text(problem)}", "bold red"))
    if is_split(aggregate):
        show()
        show(share_table(aggregate, names))
    show()
    show(_expected_table(expected) if expected else "Nothing is pending.")
    show()
    shown = [entry for entry in reversed(entries) if every_step or not entry.is_routine]
    show(_timeline_table(shown))
    if len(shown) < len(entries):
        print_line("--every-step shows all steps.", "dim")


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
        "subscription": _schedule_to_json(requested_schedule(aggregate)),
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
    add_fact(facts, "payment", f"{payment_amount(aggregate)}: {standing(aggregate)}", "bold")
    add_fact(facts, "gateway order", payment.order_id)
    add_fact(facts, "transaction", payment.transaction_id)
    number = f"order {payment.order_number}, " if payment.order_number else ""
    add_fact(facts, "Saleor", f"{history.saleor} ({number}channel {payment.channel})")
    add_fact(facts, "account", f"{account.name} ({account.id})")
    reserved = ((now.authorized, "authorized"),) if now.authorized else ()
    moved = (*reserved, (now.taken, "charged"), (now.returned, "refunded"))
    add_fact(facts, "money", ", ".join(f"{figure_text(amount, now.currency)} {what}" for amount, what in moved))
    schedule = requested_schedule(aggregate)
    if schedule is not None:
        add_fact(facts, "subscription", _schedule_text(schedule))
    possible = ", ".join(action.value.lower() for action in now.actions)
    add_fact(facts, "possible actions", possible or "none")
    return facts


def _schedule_to_json(schedule: Schedule | None) -> dict[str, object] | None:
    if schedule is None:
        return None
    days = {"starts_on": schedule.starts_on, "ends_on": schedule.ends_on}
    stated = {name: None if day is None else day.isoformat() for name, day in days.items()}
    return {"unit": schedule.unit, "every": schedule.count, **stated}


def _schedule_text(schedule: Schedule) -> str:
    every = f"charged every {translation(ENGLISH).duration(schedule.count, schedule.unit)}, as the storefront asked"
    first = f", from {schedule.starts_on}" if schedule.starts_on else ""
    last = f", until {schedule.ends_on}" if schedule.ends_on else ""
    return every + first + last


def _timeline_table(entries: Sequence[Entry]) -> Table:
    lines = grid(fixed=2, columns=3)
    lines.add_row(Text("Activity (UTC)", "bold not dim"))
    for entry in entries:
        words = Text(message_text(entry.words), _STYLES[entry.tone])
        lines.add_row(f"  {entry.at:{_MOMENT}}", entry.who.value, words)
    return lines


def _expected_table(expected: Sequence[PendingStep]) -> Table:
    rows = grid(fixed=1, columns=2)
    rows.add_row(Text("Waiting for (UTC)", "bold not dim"))
    for step in expected:
        until = f"{step.until:{_MOMENT}}" if step.until else ""
        rows.add_row(f"  {until}", Text(message_text(step.words), "yellow"))
    return rows
