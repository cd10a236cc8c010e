"""``payments looked-at`` and ``notifications looked-at``: acknowledge what only a person can judge."""

from collections.abc import Awaitable, Callable
from enum import StrEnum
from typing import Annotated

import typer

from app.commands.failure import CommandFailed
from app.commands.finders import find_installation, find_payment
from app.commands.payment_view import AnyName
from app.commands.services import with_services
from app.commands.terminal import AsJson, print_line, show_json
from app.core.alerts import AlertKind
from app.flows.staff.manual_resolution import acknowledge_notifications, acknowledge_problems
from app.services import Services


class AcknowledgeableKind(StrEnum):
    """The kinds of notifications that a person can acknowledge."""

    UNREADABLE = AlertKind.UNREADABLE.value
    UNMATCHED = AlertKind.UNMATCHED.value


def acknowledge(payment: AnyName, as_json: AsJson = False) -> None:
    """Mark a payment's problems as reviewed. If the gateway merely repeats them, they do not come back.

    Refused keys stay a problem until the gateway accepts them; an open outcome stays one until it is settled.
    """

    async def run(services: Services) -> tuple[str, tuple[str, ...]]:
        async with services.database.transaction() as session:
            found = (await find_payment(session, payment)).payment
        return found.order_id, await acknowledge_problems(services, found.installation_id, found.order_id) or ()

    order_id, texts = with_services(run)
    if as_json:
        show_json({"order_id": order_id, "looked_at": list(texts)})
    if not texts:
        raise CommandFailed("this payment has no problem that can be marked as reviewed")
    if not as_json:
        for text in texts:
            print_line(f"reviewed: {text}")


def notifications_looked_at(
    what: Annotated[AcknowledgeableKind, typer.Argument(help="Which notifications.")],
    saleor: Annotated[
        str | None, typer.Option(metavar="URL", help="The store's Saleor API URL, if several have installed the app.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Mark notifications that cannot be used as reviewed. They are kept."""

    async def mark(services: Services, store_id: int) -> int:
        return await acknowledge_notifications(services, store_id, AlertKind(what.value))

    acknowledge_in_store(saleor, mark, as_json=as_json)


def acknowledge_in_store(saleor: str | None, mark: Callable[[Services, int], Awaitable[int]], *, as_json: bool) -> None:
    """Acknowledge things in a store with ``mark``, and print their number; ``mark`` receives the store's row id."""

    async def run(services: Services) -> int:
        return await mark(services, (await find_installation(services, saleor)).id)

    count = with_services(run)
    if as_json:
        show_json({"looked_at": count})
    else:
        print_line(f"reviewed: {count}")
