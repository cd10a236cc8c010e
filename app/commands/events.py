"""``events``: the events for Saleor, and those that it has refused."""

from collections.abc import Sequence
from typing import Annotated

import typer
from rich.text import Text

from app.commands.arguments import MAX_NUMBER
from app.commands.failure import CommandFailed
from app.commands.messages import amount_text, message_text
from app.commands.services import with_services
from app.commands.terminal import AsJson, moment, plain, print_line, show, show_json, table
from app.core.ids import EventRowId
from app.core.payment import Payment, SaleorEvent
from app.core.vocabulary import EventState
from app.flows.on_demand import resend_events
from app.reports.descriptions import event_name
from app.services import Services
from app.store.search import events_page


def show_events(
    waiting: Annotated[bool, typer.Option("--waiting", help="Only events that Saleor has not accepted yet.")] = False,
    refused: Annotated[
        bool, typer.Option("--refused", help="Only events that Saleor has permanently refused.")
    ] = False,
    after: Annotated[
        int | None,
        typer.Option(
            max=MAX_NUMBER,
            metavar="EVENT",
            help="Continue after this event, the last one of a page.",
            show_default=False,
        ),
    ] = None,
    limit: Annotated[int, typer.Option(min=1, max=500, metavar="NUMBER", help="How many to show, newest first.")] = 20,
    as_json: AsJson = False,
) -> None:
    """Show the newest events."""
    if waiting and refused:
        raise CommandFailed("use either --waiting or --refused", status=2)
    state = EventState.WAITING if waiting else EventState.REFUSED if refused else None

    async def read(services: Services) -> Sequence[tuple[SaleorEvent, Payment]]:
        async with services.database.transaction() as session:
            return await events_page(session, state, most=limit, after=after)

    found = with_services(read)
    if as_json:
        show_json([_to_json(event, payment) for event, payment in found])
        return
    if not found:
        print_line("No such events." if state else "There are no events yet.")
        return
    rows = table("Event", "Gateway order", "Reports", "State (tries)")
    rows.columns[1].width = 32
    for event, payment in found:
        error = f"\n{plain(event.last_error)}" if event.last_error else ""
        due = f"\nnext: {event.next_attempt_at:%Y-%m-%d %H:%M:%S}" if event.next_attempt_at else ""
        text = Text(f"{event.state.value} ({event.attempts}){due}{error}", _STYLES.get(event.state, ""))
        order = f"{payment.order_id}\n{event.created_at:%Y-%m-%d %H:%M:%S}"
        reports = f"{message_text(event_name(event.type))}\n{amount_text(event.amount, payment.currency)}"
        rows.add_row(str(event.id), order, reports, text)
    show(rows)


def retry(
    events: Annotated[
        list[int] | None,
        typer.Argument(max=MAX_NUMBER, metavar="[EVENT]...", help="The numbers of the events.", show_default=False),
    ] = None,
    all_refused: Annotated[bool, typer.Option("--all-refused", help="All events that Saleor has refused.")] = False,
    as_json: AsJson = False,
) -> None:
    """Send events to Saleor again: after you have fixed in Saleor why it refused them, or to send them at once.

    The worker sends them within a second. The problem of a refused event disappears when Saleor accepts it.
    """
    if bool(events) == all_refused:
        raise CommandFailed("give the numbers of events, or --all-refused", status=2)

    async def do(services: Services) -> list[EventRowId]:
        given = [EventRowId(number) for number in events or ()]
        return await resend_events(services, given or await _find_refused_ids(services))

    resent = with_services(do)
    left = sorted(set(events or ()) - set(resent))
    if as_json:
        show_json({"again": resent, "left": left})
    else:
        print_line(f"Sent to Saleor again: {', '.join(map(str, resent)) or 'nothing'}")
    if left:
        raise CommandFailed(
            f"not sent again, because Saleor already has them or they do not exist: {', '.join(map(str, left))}"
        )


_STYLES = {EventState.WAITING: "yellow", EventState.REFUSED: "red"}


async def _find_refused_ids(services: Services) -> list[EventRowId]:
    """Return the ids of all refused events, the oldest first."""
    found: list[EventRowId] = []
    while True:
        async with services.database.transaction() as session:
            page = await events_page(session, EventState.REFUSED, most=500, after=found[-1] if found else None)
        if not page:
            return found[::-1]
        found += [EventRowId(event.id) for event, _ in page if event.id is not None]


def _to_json(event: SaleorEvent, payment: Payment) -> dict[str, object]:
    return {
        "event": event.id,
        "order_id": payment.order_id,
        "transaction_id": payment.transaction_id,
        "type": event.type,
        "psp_reference": event.psp_reference,
        "amount": event.amount,
        "currency": payment.currency,
        "message": event.message,
        "state": event.state.value,
        "attempts": event.attempts,
        "last_error": event.last_error,
        "next_attempt_at": moment(event.next_attempt_at),
        "created_at": moment(event.created_at),
        "delivered_at": moment(event.delivered_at),
    }
