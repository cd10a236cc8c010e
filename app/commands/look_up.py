"""``look-up``: the gateway's records of an order, an operation, a subscription or a period."""

import sys
from collections.abc import Awaitable, Callable
from contextlib import aclosing
from enum import StrEnum
from typing import Annotated, TypeAlias, TypeVar

import typer

from app.commands.arguments import build_backwards_error, read_moment
from app.commands.failure import CommandFailed
from app.commands.finders import find_account, find_payment
from app.commands.messages import amount_text
from app.commands.progress_bar import Stage, show_progress
from app.commands.services import with_services
from app.commands.terminal import AsJson, moment, plain, print_line, print_warning, show, show_json, table
from app.flows.reconciliation.orders import GatewayUnavailableError
from app.flows.staff.look_ups import (
    FoundRecords,
    PeriodProgress,
    SubscriptionMethod,
    look_up_operation,
    look_up_order,
    look_up_period,
    look_up_subscription,
)
from app.reports.raw import raw_records
from app.rules.refusal import RefusalError
from app.services import Services
from app.store.tables import MerchantAccount
from gateway_client.errors import GatewayError
from gateway_client.models import Method, Status
from gateway_client.models.reports import TransactionLine
from integration_base.exact_json import dumps, loads

T = TypeVar("T")

Order: TypeAlias = Annotated[
    str,
    typer.Argument(
        metavar="ORDER",
        help="Any ID of one of your payments; with --account, the gateway's ID of any order.",
        show_default=False,
    ),
]
OfAccount: TypeAlias = Annotated[
    str | None,
    typer.Option("--account", metavar="ACCOUNT", help="The order's account, if it is not one of your payments."),
]
Account: TypeAlias = Annotated[str, typer.Option("--account", metavar="ACCOUNT", help="The account's ID or name.")]


class SubscriptionLookUp(StrEnum):
    """The kinds of operations that can be looked up for a subscription."""

    PURCHASE = Method.PURCHASE.value
    REFUND = Method.REFUND.value


def order(order: Order, *, account: OfAccount = None, as_json: AsJson = False) -> None:
    """Show all of the gateway's records of an order. Results for your payments are recorded."""

    async def do(services: Services) -> FoundRecords:
        return await look_up_order(services, *await _resolve_order(services, order, account))

    _print_records(_query_gateway(do), as_json=as_json)


def operation(
    order: Order,
    method: Annotated[Method, typer.Argument(help="The kind of operation.")],
    *,
    account: OfAccount = None,
    as_json: AsJson = False,
) -> None:
    """Show the gateway's records of one kind of operation of an order. Results for your payments are recorded."""

    async def do(services: Services) -> FoundRecords:
        return await look_up_operation(services, *await _resolve_order(services, order, account), method)

    _print_records(_query_gateway(do), as_json=as_json)


def subscription(
    subscription: Annotated[str, typer.Argument(metavar="SUBSCRIPTION", help="The gateway's ID of the subscription.")],
    *,
    account: Account,
    method: Annotated[
        SubscriptionLookUp, typer.Option(help="Its charges, or the refunds of its charges.")
    ] = SubscriptionLookUp.PURCHASE,
    status: Annotated[Status, typer.Option(help="Only records with this status.")] = Status.SUCCESS,
    as_json: AsJson = False,
) -> None:
    """Show the payments or refunds of a subscription. Results for your payments are recorded."""

    async def do(services: Services) -> FoundRecords:
        kind: SubscriptionMethod = Method.REFUND if method is SubscriptionLookUp.REFUND else Method.PURCHASE
        return await look_up_subscription(services, await find_account(services, account), subscription, kind, status)

    _print_records(_query_gateway(do), as_json=as_json)


def period(
    *,
    account: Account,
    since: Annotated[str, typer.Option("--from", metavar="DATE", help="The first day, or a time with its zone.")],
    until: Annotated[str, typer.Option("--to", metavar="DATE", help="The last day, or a time with its zone.")],
    as_json: AsJson = False,
) -> None:
    """Write the gateway's list for a period as it arrives. Days are in UTC.

    If the list differs from the app's record of an order, the order is looked up and the result recorded. With --json,
    each transaction is one line of JSON.
    """
    start, end = read_moment(since, "--from"), read_moment(until, "--to", last=True)
    if start is None or end is None or start >= end:
        raise build_backwards_error()
    progress = PeriodProgress()

    async def do(services: Services) -> None:
        merchant_account = await find_account(services, account)
        async with (
            show_progress(
                lambda: Stage(f"{progress.start:%Y-%m-%d}: lines read" if progress.start else "", progress.lines, None)
            ),
            aclosing(look_up_period(services, merchant_account, start, end, progress)) as lines,
        ):
            async for line in lines:
                sys.stdout.write((dumps(line.to_wire()) if as_json else _row(line)) + "\n")

    try:
        _query_gateway(do)
    except CommandFailed as error:
        raise CommandFailed(f"the list is incomplete: {error.format_message()}") from error
    for order_id in progress.posted:
        print_warning(f"{order_id}: differed from the app's record; it was looked up, and the result is recorded")
    if progress.unreadable:
        raise CommandFailed(f"{progress.unreadable} lines of the period could not be read and were left out")


async def _resolve_order(services: Services, reference: str, account: str | None) -> tuple[MerchantAccount, str]:
    if account is not None:
        return await find_account(services, account), reference
    async with services.database.transaction() as session:
        payment = (await find_payment(session, reference)).payment
        return await session.get_one(MerchantAccount, payment.account_id), payment.order_id


def _query_gateway(do: Callable[[Services], Awaitable[T]]) -> T:
    """Run a query of the gateway with services. Raises CommandFailed."""
    try:
        return with_services(do)
    except RefusalError as refusal:
        raise CommandFailed(refusal.message) from refusal
    except GatewayUnavailableError as away:
        raise CommandFailed(f"the request to the gateway failed: {away.cause}") from away
    except GatewayError as error:
        raise CommandFailed(f"the request to the gateway failed: {error.message}") from error


def _print_records(found: FoundRecords, *, as_json: bool) -> None:
    if as_json:
        records = loads(raw_records(found.records), any_number=True)
        show_json({"records": records, "posted": list(found.posted)})
        return
    if not found.records and not found.records.unreadable:
        print_line("The gateway has no records.")
        return
    rows = table("At (UTC)", "What", "Status", "Amount", "Gateway ID", amounts=["Amount"])
    for record in found.records:
        code = f" [{record.status_code}]" if record.status_code else ""
        rows.add_row(
            (moment(record.created_at) or "")[:19].replace("T", " "),
            plain(str(record.method)),
            plain(f"{record.status}{code}"),
            amount_text(record.amount, record.currency),
            plain(getattr(record, "operation_id", record.payment_id)),
        )
    show(rows)
    for why in found.records.unreadable:
        print_warning(f"a record could not be read: {why}")
    for order_id in found.posted:
        print_line(f"Recorded for payment {order_id}.")


def _row(line: TransactionLine) -> str:
    at = "" if line.date_time is None else f"{line.date_time:%Y-%m-%d %H:%M:%S}"
    amount = "" if line.amount is None else amount_text(line.amount, line.currency)
    cells = (at.ljust(19), plain(str(line.method or "")).ljust(10), str(line.status or "").ljust(8))
    return "  ".join((*cells, plain(amount).rjust(18), plain(line.order_id or "")))
