"""``look-up``: what the gateway has of an order, an operation, a subscription or a period."""

import sys
from collections.abc import Awaitable, Callable
from contextlib import aclosing
from enum import StrEnum
from typing import Annotated, TypeAlias, TypeVar

import typer

from app.commands.failure import CommandFailed
from app.commands.finding import find_account, find_payment
from app.commands.opening import with_services
from app.commands.periods import read_moment
from app.commands.progress_bar import Stage, shown
from app.commands.terminal import AsJson, moment, plain, say, show, show_json, table, warn
from app.db.tables import MerchantAccount
from app.exact_json import dumps, loads
from app.gateway.errors import GatewayError
from app.gateway.models import Method, Status
from app.gateway.models.reports import TransactionLine
from app.payments.core.refusal import RefusalError
from app.payments.reconciliation.orders import GatewayAwayError
from app.payments.services import Services
from app.payments.staff.look_ups import (
    Found,
    PeriodProgress,
    SubscriptionMethod,
    look_up_operation,
    look_up_order,
    look_up_period,
    look_up_subscription,
)
from app.payments.staff.raw import raw_records

T = TypeVar("T")

Order: TypeAlias = Annotated[
    str,
    typer.Argument(
        metavar="ORDER",
        help="Any name of a payment of ours; with --account the gateway's own id of any order.",
        show_default=False,
    ),
]
OfAccount: TypeAlias = Annotated[
    str | None,
    typer.Option("--account", metavar="ACCOUNT", help="Whose order it is, if it is no payment of ours."),
]
Account: TypeAlias = Annotated[str, typer.Option("--account", metavar="ACCOUNT", help="Its id or its name.")]


class Charged(StrEnum):
    """What can be asked of a subscription."""

    PURCHASE = Method.PURCHASE.value
    REFUND = Method.REFUND.value


def order(order: Order, *, account: OfAccount = None, as_json: AsJson = False) -> None:
    """Show all that the gateway has of an order. What is found of a payment of ours is posted."""

    async def do(services: Services) -> Found:
        return await look_up_order(services, *await _meant(services, order, account))

    _tell(_asked(do), as_json=as_json)


def operation(
    order: Order,
    method: Annotated[Method, typer.Argument(help="Which kind of operation.")],
    *,
    account: OfAccount = None,
    as_json: AsJson = False,
) -> None:
    """Show what the gateway has of one kind of operation of an order. What is found of a payment of ours is posted."""

    async def do(services: Services) -> Found:
        return await look_up_operation(services, *await _meant(services, order, account), method)

    _tell(_asked(do), as_json=as_json)


def subscription(
    subscription: Annotated[str, typer.Argument(metavar="SUBSCRIPTION", help="The gateway's id of it.")],
    *,
    account: Account,
    method: Annotated[Charged, typer.Option(help="Its charges, or what was refunded of them.")] = Charged.PURCHASE,
    status: Annotated[Status, typer.Option(help="Only what ended so.")] = Status.SUCCESS,
    as_json: AsJson = False,
) -> None:
    """Show the payments or refunds of a subscription. What is found of a payment of ours is posted."""

    async def do(services: Services) -> Found:
        kind: SubscriptionMethod = Method.REFUND if method is Charged.REFUND else Method.PURCHASE
        return await look_up_subscription(services, await find_account(services, account), subscription, kind, status)

    _tell(_asked(do), as_json=as_json)


def period(
    *,
    account: Account,
    since: Annotated[str, typer.Option("--from", metavar="DATE", help="The first day, or a moment with its zone.")],
    until: Annotated[str, typer.Option("--to", metavar="DATE", help="The last day, or a moment with its zone.")],
    as_json: AsJson = False,
) -> None:
    """Write the gateway's list of a period while it comes. Days are those of UTC.

    An order of ours of which it says otherwise than we do is looked up, and what is found is posted. With --json it is
    a line of JSON for each transaction.
    """
    start, end = read_moment(since, "--from"), read_moment(until, "--to", last=True)
    if start is None or end is None or start >= end:
        raise CommandFailed("the period ends before it begins", status=2)
    so_far = PeriodProgress()

    async def do(services: Services) -> None:
        meant = await find_account(services, account)
        async with (
            shown(lambda: Stage(f"{so_far.start:%Y-%m-%d}: lines read" if so_far.start else "", so_far.lines, None)),
            aclosing(look_up_period(services, meant, start, end, so_far)) as lines,
        ):
            async for line in lines:
                sys.stdout.write((dumps(line.to_wire()) if as_json else _row(line)) + "\n")

    try:
        _asked(do)
    except CommandFailed as error:
        raise CommandFailed(f"this is not all of the period: {error.format_message()}") from error
    for order_id in so_far.posted:
        warn(f"{order_id}: it was not as we knew it; it was looked up, and what was found is posted")
    if so_far.unreadable:
        raise CommandFailed(f"{so_far.unreadable} lines of the period cannot be read, and are left out")


async def _meant(services: Services, given: str, account: str | None) -> tuple[MerchantAccount, str]:
    if account is not None:
        return await find_account(services, account), given
    async with services.database.transaction() as session:
        payment = (await find_payment(session, given)).payment
        return await session.get_one(MerchantAccount, payment.account_id), payment.order_id


def _asked(do: Callable[[Services], Awaitable[T]]) -> T:
    """Do what asks the gateway. Raises CommandFailed."""
    try:
        return with_services(do)
    except RefusalError as refusal:
        raise CommandFailed(refusal.message) from refusal
    except GatewayAwayError as away:
        raise CommandFailed(f"the gateway could not be asked: {away.cause}") from away
    except GatewayError as error:
        raise CommandFailed(f"the gateway could not be asked: {error.message}") from error


def _tell(found: Found, *, as_json: bool) -> None:
    if as_json:
        records = loads(raw_records(found.records), any_number=True)
        show_json({"records": records, "posted": list(found.posted)})
        return
    if not found.records and not found.records.unreadable:
        say("The gateway has nothing of it.")
        return
    rows = table("At (UTC)", "What", "Status", "Amount", "Id at the gateway")
    rows.columns[3].justify = "right"
    for each in found.records:
        code = f" [{each.status_code}]" if each.status_code else ""
        rows.add_row(
            (moment(each.created_at) or "")[:19].replace("T", " "),
            plain(str(each.method)),
            plain(f"{each.status}{code}"),
            plain(f"{each.amount} {each.currency}"),
            plain(getattr(each, "operation_id", each.payment_id)),
        )
    show(rows)
    for why in found.records.unreadable:
        warn(f"a record that cannot be read: {why}")
    for order_id in found.posted:
        say(f"Posted to the payment {order_id}.")


def _row(line: TransactionLine) -> str:
    at = "" if line.date_time is None else f"{line.date_time:%Y-%m-%d %H:%M:%S}"
    amount = "" if line.amount is None else f"{line.amount} {line.currency or ''}"
    cells = (at.ljust(19), plain(str(line.method or "")).ljust(10), str(line.status or "").ljust(8))
    return "  ".join((*cells, plain(amount).rjust(18), plain(line.order_id or "")))
