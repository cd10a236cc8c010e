"""``payments capture``, ``void``, ``refund`` and ``cancel``: the staff actions of the payment's page, in a terminal."""

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Annotated, TypeAlias
from uuid import uuid4

import typer

from app.commands.arguments import read_amount, read_shares, require_request_name
from app.commands.failure import CommandFailed
from app.commands.finders import find_payment
from app.commands.payment_view import AnyName, summary
from app.commands.services import with_services
from app.commands.system_user import user_name
from app.commands.terminal import AsJson, confirm, print_line, print_warning, require_interactive, show_json
from app.core.ids import GatewayOperationId
from app.core.payment import Operation, PaymentAggregate
from app.core.vocabulary import Kind, State
from app.flows.accounts.balances import read_balances, refund_warning
from app.flows.staff.actions import StaffRequest, charge_refund_step, find_request, largest_step, request_action
from app.flows.staff.subscription import cancel_subscription
from app.i18n.messages import Money
from app.rules.action_request import describe_request
from app.rules.balance import Balance, balance
from app.rules.decisions.action import Step
from app.rules.dialects import keeps_rest
from app.rules.refusal import RefusalError
from app.rules.split.rules import names_of
from app.services import Services
from app.store.tables import MerchantAccount

Amount: TypeAlias = Annotated[
    str | None,
    typer.Option(metavar="AMOUNT", help="The amount. Default: the full amount possible.", show_default=False),
]
Yes: TypeAlias = Annotated[bool, typer.Option("--yes", help="Do not ask for confirmation.")]
RequestName: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--request",
        metavar="NAME",
        callback=require_request_name,
        help="A unique name for this request: repeated, it is executed only once. For scripts that retry.",
        show_default=False,
    ),
]
Reason: TypeAlias = Annotated[
    str,
    typer.Option(
        metavar="TEXT", help="The reason: the gateway stores it, and the timeline shows it.", show_default=False
    ),
]

_WITH_AMOUNT = frozenset({Kind.CAPTURE, Kind.REFUND})


def capture(
    payment: AnyName,
    *,
    amount: Amount = None,
    reason: Reason = "",
    request: RequestName = None,
    yes: Yes = False,
    as_json: AsJson = False,
) -> None:
    """Capture an authorized amount, or part of it: only one capture is possible, and the rest is released."""
    _do(Kind.CAPTURE, payment, amount=amount, reason=reason, request=request, yes=yes, as_json=as_json)


def void(
    payment: AnyName, *, reason: Reason = "", request: RequestName = None, yes: Yes = False, as_json: AsJson = False
) -> None:
    """Release the whole authorized amount."""
    _do(Kind.VOID, payment, reason=reason, request=request, yes=yes, as_json=as_json)


def refund(
    payment: AnyName,
    *,
    amount: Amount = None,
    from_: Annotated[
        list[str] | None,
        typer.Option(
            "--from",
            metavar="SUB_MERCHANT=AMOUNT",
            help="For a split payment: take this amount from this sub-merchant (UUID or name); can be repeated.",
        ),
    ] = None,
    charge: Annotated[
        str | None,
        typer.Option(
            metavar="ID",
            help="For a later charge of the payment's subscription: the gateway's ID of that charge.",
            show_default=False,
        ),
    ] = None,
    reason: Reason = "",
    request: RequestName = None,
    yes: Yes = False,
    as_json: AsJson = False,
) -> None:
    """Refund what was charged, or part of it."""
    _do(
        Kind.REFUND,
        payment,
        amount=amount,
        taken_from=from_ or (),
        charge_id=None if charge is None else GatewayOperationId(charge),
        reason=reason,
        request=request,
        yes=yes,
        as_json=as_json,
    )


def cancel(payment: AnyName, request: RequestName = None, yes: Yes = False, as_json: AsJson = False) -> None:
    """Cancel a payment that the shopper has not paid yet: its payment page is closed."""
    _do(Kind.CANCEL, payment, request=request, yes=yes, as_json=as_json)


def end_subscription(payment: AnyName, yes: Yes = False, as_json: AsJson = False) -> None:
    """Cancel the subscription that a payment started: nothing more is charged for it."""
    aggregate, _ = with_services(lambda services: _load(services, payment))
    if not yes:
        require_interactive("confirm with --yes")
        confirm(f"Cancel the subscription of payment {aggregate.payment.order_id}? This cannot be undone.")

    async def do(services: Services) -> PaymentAggregate:
        try:
            return await cancel_subscription(services, aggregate.payment.order_id, user_name())
        except RefusalError as refusal:
            raise CommandFailed(f"nothing was done: {refusal.message}") from refusal

    ended = with_services(do)
    if as_json:
        show_json({**summary(ended), "subscription": ended.payment.recurring_status})
    else:
        print_line("The subscription was cancelled. Nothing more will be charged for it.")


def _do(
    kind: Kind,
    payment: str,
    *,
    amount: str | None = None,
    taken_from: Sequence[str] = (),
    charge_id: GatewayOperationId | None = None,
    reason: str = "",
    request: str | None,
    yes: bool,
    as_json: bool,
) -> None:
    aggregate, account = with_services(lambda services: _load(services, payment))
    currency = aggregate.payment.currency
    shares = read_shares(taken_from, names_of(account.split_rules), currency) or None
    wanted = None if amount is None else read_amount(amount, currency)
    by, key = user_name(), request or uuid4().hex
    repeated = find_request(aggregate, key)
    is_rest = kind in _WITH_AMOUNT and wanted is None and shares is None
    if repeated is None:
        now = balance(aggregate.payment.flow, aggregate.operations)
        step = _step(kind, wanted, shares, now, charge_id)
        _confirm_step(step, now, aggregate.payment.order_id, account, yes=yes)
        wanted = step.amount
    elif is_rest:  # all that was possible when it was requested first, whatever has become of that since
        wanted = repeated.amount
    requested = StaffRequest(
        kind,
        by=by,
        key=key,
        amount=wanted if kind in _WITH_AMOUNT else None,
        taken_from=shares,
        charge_id=charge_id,
        reason=reason,
        is_rest=is_rest,
    )

    async def do(services: Services) -> tuple[PaymentAggregate, Operation]:
        try:
            return await request_action(services, aggregate.payment.order_id, requested)
        except RefusalError as refusal:
            raise CommandFailed(f"nothing was done: {refusal.message}") from refusal

    _print_result(*with_services(do), as_json=as_json)


def _confirm_step(step: Step, now: Balance, order_id: str, account: MerchantAccount, *, yes: bool) -> None:
    if step.kind is Kind.REFUND:
        _warn_if_insufficient(account, now.sum(step.amount))
    if not yes:
        require_interactive("confirm with --yes")
        confirm(_question(step, now, order_id, is_rest_kept=keeps_rest(account)))


def _warn_if_insufficient(account: MerchantAccount, refunded: Money) -> None:
    """Warn of a refund that the balance at the gateway does not cover. The query is short, and its failure harmless."""
    balances = with_services(lambda services: read_balances(services, account))
    if (warning := refund_warning(refunded.amount, refunded.currency, balances)) is not None:
        print_warning(warning)


def _step(
    kind: Kind,
    amount: Decimal | None,
    shares: Mapping[str, Decimal] | None,
    now: Balance,
    charge_id: GatewayOperationId | None,
) -> Step:
    """Return the requested step; it is validated on execution. Raises CommandFailed when it clearly cannot succeed."""
    try:
        if charge_id is not None:
            return charge_refund_step(charge_id, amount, now)
        whole = largest_step(kind, now).amount if shares is None else sum(shares.values(), Decimal())
    except RefusalError as refusal:
        raise CommandFailed(f"nothing was done: {refusal.message}") from refusal
    return Step(kind, whole if amount is None else amount)


def _question(step: Step, now: Balance, order_id: str, *, is_rest_kept: bool) -> str:
    sum_ = now.sum(step.amount)
    match step.kind:
        case Kind.CAPTURE if step.amount < now.capturable:
            rest = now.sum(now.capturable - step.amount)
            becomes = f"leave the remaining {rest} authorized" if is_rest_kept else f"release the remaining {rest}"
            return f"Capture {sum_} of the amount authorized for payment {order_id}, and {becomes}?"
        case Kind.CAPTURE:
            return f"Capture the {sum_} authorized for payment {order_id}?"
        case Kind.VOID:
            return f"Release the {sum_} authorized for payment {order_id}?"
        case Kind.REFUND:
            return f"Refund {sum_} of payment {order_id}?"
        case _:
            return f"Cancel payment {order_id} and close its payment page?"


async def _load(services: Services, payment: str) -> tuple[PaymentAggregate, MerchantAccount]:
    async with services.database.transaction() as session:
        aggregate = await find_payment(session, payment)
        return aggregate, await session.get_one(MerchantAccount, aggregate.payment.account_id)


def _print_result(aggregate: PaymentAggregate, operation: Operation, *, as_json: bool) -> None:
    done = {
        "kind": operation.kind.value,
        "amount": operation.amount,
        "state": operation.state.value,
        "message": operation.message,
        "request": operation.idempotency_key.removeprefix("staff:"),
        "operation_id": operation.operation_id,
    }
    if as_json:
        show_json({**summary(aggregate), "asked": done})
    if operation.state is State.FAILURE:
        raise CommandFailed(f"the operation failed: {operation.message}")
    if as_json:
        return
    if operation.state is State.SUCCESS:
        print_line(f"Done: {describe_request(operation)}.")
    elif operation.state is State.WAITING:
        print_line("Request accepted. It will be sent when the operation in progress has finished.")
    else:
        print_line("The outcome is not known yet: the app will find out and report it to Saleor.")
