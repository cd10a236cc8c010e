"""``payments show``: the timeline of one payment."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from rich.table import Table
from rich.text import Text

from app.commands.finding import find_payments
from app.commands.opening import with_services
from app.commands.payment_shares import share_table, shares_to_json
from app.commands.payment_view import AnyName, listed, summary
from app.commands.terminal import AsJson, fact, fact_sheet, moment, plain, say, show, show_json
from app.db.aggregates import PaymentAggregate
from app.db.inbox import StoredNotification
from app.db.tables import MerchantAccount
from app.payments.core.balance import balance
from app.payments.core.problems import problem_words
from app.payments.services import Services
from app.payments.split.rules import names_of
from app.payments.split.standing import is_split
from app.payments.staff.status import Expected, expectations, standing
from app.payments.staff.timeline import Entry, Tone, timeline

_STYLES = {Tone.NEUTRAL: "", Tone.GOOD: "green", Tone.OPEN: "yellow", Tone.BAD: "red"}


def show_payment(payment: AnyName, as_json: AsJson = False) -> None:
    """Show the timeline of a payment: what was asked and answered, what Saleor was told, what is being waited for.

    If several payments are called so (an order can have several), they are listed.
    """

    async def read(services: Services) -> _Story | list[PaymentAggregate]:
        async with services.database.transaction() as session:
            aggregates = await find_payments(session, payment)
            aggregate = aggregates[0]
            account = await session.get_one(MerchantAccount, aggregate.payment.account_id)
        if len(aggregates) > 1:
            return aggregates
        saleor = (await services.installations.get(aggregate.payment.installation_id)).saleor_api_url
        notifications = await services.inbox.of_order(account.id, aggregate.payment.order_id)
        return _Story(aggregate, account, saleor, notifications)

    found = with_services(read)
    if isinstance(found, list):
        if as_json:
            show_json([summary(each) for each in found])
            return
        show(listed(found))
        say(f"Several payments are called {payment!r}: name one by its gateway order.")
        return
    aggregate, names = found.aggregate, names_of(found.account.split_rules)
    entries, expected = timeline(aggregate, found.notifications, names), expectations(aggregate, found.notifications)
    if as_json:
        show_json(_to_json(found, entries, expected))
        return
    show(_facts(found))
    if (problem := problem_words(aggregate.payment)) is not None:
        show()
        show(Text(f"Problem: {plain(problem)}", "bold red"))
    if is_split(aggregate):
        show()
        show(share_table(aggregate, names))
    show()
    show(_lines(entries))
    show()
    show(_waits(expected) if expected else "Nothing is being waited for.")


@dataclass(frozen=True, slots=True)
class _Story:
    """Everything that there is to tell of a payment."""

    aggregate: PaymentAggregate
    account: MerchantAccount
    saleor: str
    notifications: Sequence[StoredNotification]


def _to_json(story: _Story, entries: Sequence[Entry], expected: Sequence[Expected]) -> dict[str, object]:
    aggregate = story.aggregate
    now = balance(aggregate.payment.flow, aggregate.operations)
    return {
        **summary(aggregate),
        "saleor": story.saleor,
        "account_name": story.account.name,
        "authorized": now.authorized,
        "charged": now.taken,
        "refunded": now.returned,
        "possible": [each.value for each in now.actions],
        "timeline": [
            {"at": moment(each.at), "who": each.who.value, "what": each.what, "words": each.words, **_facts_of(each)}
            for each in entries
        ],
        "split": shares_to_json(aggregate) if is_split(aggregate) else None,
        "waiting_for": [{"words": each.words, "until": moment(each.until)} for each in expected],
    }


def _facts_of(entry: Entry) -> dict[str, object]:
    return {name: moment(fact) if isinstance(fact, datetime) else fact for name, fact in entry.facts.items()}


def _facts(story: _Story) -> Table:
    aggregate, account, payment = story.aggregate, story.account, story.aggregate.payment
    now = balance(payment.flow, aggregate.operations)
    facts = fact_sheet()
    fact(facts, "payment", f"{payment.amount} {payment.currency}: {standing(aggregate)}", "bold")
    fact(facts, "gateway order", payment.order_id)
    fact(facts, "transaction", payment.transaction_id)
    number = f"order {payment.order_number}, " if payment.order_number else ""
    fact(facts, "Saleor", f"{story.saleor} ({number}channel {payment.channel})")
    fact(facts, "account", f"{account.name} ({account.id})")
    reserved = f"{now.authorized} reserved, " if now.authorized else ""
    fact(facts, "money", f"{reserved}{now.taken} charged, {now.returned} refunded")
    possible = ", ".join(each.value.lower() for each in now.actions)
    fact(facts, "possible next", possible or "nothing")
    return facts


def _lines(entries: Sequence[Entry]) -> Table:
    lines = Table.grid(padding=(0, 2))
    lines.add_column(no_wrap=True, style="dim")
    lines.add_column(no_wrap=True)
    lines.add_column(overflow="fold")
    day = None
    for each in entries:
        if each.at.date() != day:
            day = each.at.date()
            lines.add_row(f"{day:%Y-%m-%d}", Text("UTC", "dim"), "")
        lines.add_row(f"  {each.at:%H:%M:%S}", each.who.value, Text(plain(each.words), _STYLES[each.tone]))
    return lines


def _waits(expected: Sequence[Expected]) -> Table:
    waits = Table.grid(padding=(0, 2))
    waits.add_column(no_wrap=True, style="dim")
    waits.add_column(overflow="fold")
    waits.add_row(Text("Waiting for", "bold"), "")
    for each in expected:
        until = f"{each.until:%Y-%m-%d %H:%M:%S}" if each.until else ""
        waits.add_row(f"  {until}", Text(plain(each.words), "yellow"))
    return waits
