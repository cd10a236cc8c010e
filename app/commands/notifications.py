"""``notifications``: the gateway's notifications and their outcomes. Their contents are never shown."""

from collections.abc import Sequence
from typing import Annotated

import typer
from rich.text import Text

from app.commands.arguments import MAX_NUMBER
from app.commands.failure import CommandFailed
from app.commands.services import with_services
from app.commands.terminal import AsJson, moment, plain, print_line, show, show_json, table
from app.core.notification import outcome_from
from app.flows.notifications import process
from app.rules.decisions.notification import outcome_message
from app.services import Services
from app.store.search import notifications_page
from app.store.tables import Notification

Failed = Annotated[bool, typer.Option("--failed", help="Only notifications that could not be processed.")]
Unmatched = Annotated[bool, typer.Option("--unmatched", help="Only notifications about orders that are not ours.")]

_NO_SUCH = "there is no such notification"


def show_notifications(
    failed: Failed = False,
    unmatched: Unmatched = False,
    after: Annotated[
        int | None,
        typer.Option(
            max=MAX_NUMBER,
            metavar="NUMBER",
            help="Continue after this notification, the last one of a page.",
            show_default=False,
        ),
    ] = None,
    limit: Annotated[int, typer.Option(min=1, max=500, metavar="NUMBER", help="How many to show, newest first.")] = 20,
    as_json: AsJson = False,
) -> None:
    """Show the newest notifications."""

    async def read(services: Services) -> Sequence[Notification]:
        return await _page(services, failed=failed, unmatched=unmatched, most=limit, after=after)

    found = with_services(read)
    if as_json:
        show_json([_to_json(notification) for notification in found])
        return
    if not found:
        print_line("No such notifications." if failed or unmatched else "There are no notifications yet.")
        return
    rows = table("Number", "Received (UTC)", "Gateway order", "Outcome")
    rows.columns[2].width = 32
    for notification in found:
        style = "" if notification.processed_at else "yellow"
        outcome = plain(_outcome_of(notification) or "not processed yet")
        text = Text(outcome if notification.processed_at else f"{outcome} ({notification.attempts} tries)", style)
        rows.add_row(
            str(notification.id), f"{notification.received_at:%Y-%m-%d %H:%M:%S}", plain(notification.order_id), text
        )
    show(rows)


def replay(
    numbers: Annotated[
        list[int] | None,
        typer.Argument(
            max=MAX_NUMBER, metavar="[NUMBER]...", help="The numbers of the notifications.", show_default=False
        ),
    ] = None,
    failed: Failed = False,
    unmatched: Unmatched = False,
    as_json: AsJson = False,
) -> None:
    """Process notifications again, here and now, just as the worker does when they arrive.

    A repeated notification changes nothing, so it is safe to replay one that was already processed.
    """
    if bool(numbers) + failed + unmatched != 1:
        raise CommandFailed("give the numbers of notifications, or one of --failed and --unmatched", status=2)

    async def do(services: Services) -> list[dict[str, object]]:
        chosen = numbers or await _all(services, failed=failed, unmatched=unmatched)
        results: list[dict[str, object]] = []
        for number in chosen:
            outcome = await process(services, number) if await _exists(services, number) else _NO_SUCH
            results.append({"notification": number, "outcome": outcome})
            if not as_json:
                print_line(
                    f"{len(results)} of {len(chosen)}: {number}: {outcome or 'not processed; it will be retried later'}"
                )
        return results

    results = with_services(do)
    if as_json:
        show_json(results)
    elif not results:
        print_line("No such notifications.")
    if any(result["outcome"] == _NO_SUCH for result in results):
        raise CommandFailed("some of these notifications do not exist: `saleor-gateway notifications list` shows them")
    if any(result["outcome"] is None for result in results):
        raise CommandFailed("some notifications could not be processed: see the log")


async def _page(
    services: Services, *, failed: bool, unmatched: bool, most: int, after: int | None
) -> Sequence[Notification]:
    async with services.database.transaction() as session:
        return await notifications_page(session, failed=failed, unmatched=unmatched, most=most, after=after)


async def _all(services: Services, *, failed: bool, unmatched: bool) -> list[int]:
    """Return the numbers of all matching notifications, in order of arrival."""
    found: list[int] = []
    while True:
        last = found[-1] if found else None
        page = await _page(services, failed=failed, unmatched=unmatched, most=500, after=last)
        if not page:
            return found[::-1]
        found += [notification.id for notification in page if notification.id is not None]


async def _exists(services: Services, number: int) -> bool:
    async with services.database.transaction() as session:
        return await session.get(Notification, number) is not None


def _outcome_of(row: Notification) -> str | None:
    return None if row.outcome is None else outcome_message(outcome_from(row.outcome))


def _to_json(row: Notification) -> dict[str, object]:
    return {
        "notification": row.id,
        "account": row.account_id,
        "order_id": row.order_id,
        "deliveries": row.deliveries,
        "attempts": row.attempts,
        "outcome": _outcome_of(row),
        "received_at": moment(row.received_at),
        "processed_at": moment(row.processed_at),
        "next_attempt_at": moment(row.next_attempt_at),
    }
