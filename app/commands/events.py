"""``events``: what Saleor is told, and what it has refused."""

from collections.abc import Sequence
from typing import Annotated

import typer
from rich.text import Text

from app.commands.failure import CommandFailed
from app.commands.opening import with_services
from app.commands.terminal import AsJson, moment, plain, say, show, show_json, table
from app.db.search import events_page
from app.db.tables import EventState, Payment, SaleorEvent
from app.payments.services import Services
from app.payments.sync.on_demand import tell_again


def show_events(
    waiting: Annotated[bool, typer.Option("--waiting", help="Only those that Saleor has not taken yet.")] = False,
    refused: Annotated[bool, typer.Option("--refused", help="Only those that Saleor has refused for good.")] = False,
    after: Annotated[
        int | None, typer.Option(metavar="EVENT", help="Go on after this one, the last of a page.", show_default=False)
    ] = None,
    limit: Annotated[int, typer.Option(min=1, max=500, metavar="NUMBER", help="How many, the newest first.")] = 20,
    as_json: AsJson = False,
) -> None:
    """Show the newest events."""
    if waiting and refused:
        raise CommandFailed("give either --waiting or --refused", status=2)
    state = EventState.WAITING if waiting else EventState.REFUSED if refused else None

    async def read(services: Services) -> Sequence[tuple[SaleorEvent, Payment]]:
        async with services.database.transaction() as session:
            return await events_page(session, state, most=limit, after=after)

    found = with_services(read)
    if as_json:
        show_json([_to_json(event, payment) for event, payment in found])
        return
    if not found:
        say("There is no such event." if state else "There is no event yet.")
        return
    shown = table("Event", "Gateway order", "Tells Saleor", "State (tries)")
    shown.columns[1].width = 32
    for event, payment in found:
        error = f"\n{plain(event.last_error)}" if event.last_error else ""
        due = f"\nnext: {event.next_attempt_at:%Y-%m-%d %H:%M:%S}" if event.next_attempt_at else ""
        words = Text(f"{event.state.value} ({event.attempts}){due}{error}", _STYLES.get(event.state, ""))
        order = f"{payment.order_id}\n{event.created_at:%Y-%m-%d %H:%M:%S}"
        shown.add_row(str(event.id), order, f"{event.type}\n{event.amount} {payment.currency}", words)
    show(shown)


def retry(
    events: Annotated[
        list[int] | None, typer.Argument(metavar="[EVENT]...", help="Numbers of events.", show_default=False)
    ] = None,
    all_refused: Annotated[bool, typer.Option("--all-refused", help="All that Saleor has refused.")] = False,
    as_json: AsJson = False,
) -> None:
    """Tell Saleor events again: after you have mended in Saleor what made it refuse them, or to wait no longer.

    The worker does it, within a second. A refused event's problem is gone when Saleor has taken it.
    """
    if bool(events) == all_refused:
        raise CommandFailed("give numbers of events, or --all-refused", status=2)

    async def do(services: Services) -> list[int]:
        return await tell_again(services, events or await _refused(services))

    again = with_services(do)
    left = sorted(set(events or ()) - set(again))
    if as_json:
        show_json({"again": again, "left": left})
    else:
        say(f"Saleor is told again: {', '.join(map(str, again)) or 'nothing'}")
    if left:
        raise CommandFailed(
            f"not told again, because Saleor has them or they do not exist: {', '.join(map(str, left))}"
        )


_STYLES = {EventState.WAITING: "yellow", EventState.REFUSED: "red"}


async def _refused(services: Services) -> list[int]:
    """Return all refused events, the oldest first."""
    found: list[int] = []
    while True:
        async with services.database.transaction() as session:
            page = await events_page(session, EventState.REFUSED, most=500, after=found[-1] if found else None)
        if not page:
            return found[::-1]
        found += [event.id for event, _ in page if event.id is not None]


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
