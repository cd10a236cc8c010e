"""``payments looked-at`` and ``notifications looked-at``: a person has judged what only a person can."""

from collections.abc import Awaitable, Callable
from enum import StrEnum
from typing import Annotated

import typer

from app.commands.failure import CommandFailed
from app.commands.finding import find_installation, find_payment
from app.commands.opening import with_services
from app.commands.payment_view import AnyName
from app.commands.terminal import AsJson, say, show_json
from app.payments.alerts.items import AlertKind
from app.payments.services import Services
from app.payments.staff.manual_resolution import mark_looked_at, mark_notifications_looked_at


class Judged(StrEnum):
    """Notifications that nobody needs once a person has looked."""

    UNREADABLE = AlertKind.UNREADABLE.value
    UNMATCHED = AlertKind.UNMATCHED.value


def acknowledge(payment: AnyName, as_json: AsJson = False) -> None:
    """Say that you have looked at a payment's problems. What the gateway merely repeats is no problem again.

    Refused keys stay a problem until the gateway accepts them; what is about an open outcome, until it is settled.
    """

    async def do(services: Services) -> tuple[str, tuple[str, ...]]:
        async with services.database.transaction() as session:
            found = (await find_payment(session, payment)).payment
        return found.order_id, await mark_looked_at(services, found.installation_id, found.order_id) or ()

    order_id, words = with_services(do)
    if as_json:
        show_json({"order_id": order_id, "looked_at": list(words)})
    if not words:
        raise CommandFailed("this payment has no problem that could be marked as looked at")
    if not as_json:
        for each in words:
            say(f"looked at: {each}")


def notifications_looked_at(
    what: Annotated[Judged, typer.Argument(help="Which notifications.")],
    saleor: Annotated[
        str | None, typer.Option(metavar="URL", help="Which Saleor, if several have installed the app.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Say that you have looked at the notifications of which nothing can be made. They are kept."""

    async def mark(services: Services, store_id: int) -> int:
        return await mark_notifications_looked_at(services, store_id, AlertKind(what.value))

    mark_in_store(saleor, mark, as_json=as_json)


def mark_in_store(saleor: str | None, mark: Callable[[Services, int], Awaitable[int]], *, as_json: bool) -> None:
    """Mark what staff of a store have looked at, and say how much that was; ``mark`` is given the store's row id."""

    async def do(services: Services) -> int:
        return await mark(services, (await find_installation(services, saleor)).id)

    seen = with_services(do)
    if as_json:
        show_json({"looked_at": seen})
    else:
        say(f"looked at: {seen}")
