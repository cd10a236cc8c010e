"""``payments capture``, ``void``, ``refund`` and ``cancel``: what staff can do on the payment's page, in a terminal."""

import getpass
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Annotated, TypeAlias
from uuid import uuid4

import typer

from app.commands.amounts import read_amount, read_shares
from app.commands.failure import CommandFailed
from app.commands.finding import find_payment
from app.commands.opening import with_services
from app.commands.payment_view import AnyName, summary
from app.commands.terminal import AsJson, confirm, require_somebody_to_ask, say, show_json, warn
from app.db.aggregates import PaymentAggregate
from app.db.tables import Kind, MerchantAccount, Operation, State
from app.i18n.messages import Money
from app.payments.accounts.balances import read_balances, refund_warning
from app.payments.core.action_request import staff_request
from app.payments.core.balance import Balance, balance
from app.payments.core.refusal import RefusalError
from app.payments.operations.actions import Step
from app.payments.services import Services
from app.payments.split.rules import names_of
from app.payments.staff.actions import StaffRequest, ask_for, at_most, charge_refund
from app.payments.staff.subscription import cancel_subscription

Amount: TypeAlias = Annotated[
    str | None, typer.Option(metavar="AMOUNT", help="How much. All that is possible by default.", show_default=False)
]
Yes: TypeAlias = Annotated[bool, typer.Option("--yes", help="Do not ask for confirmation.")]
RequestName: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--request",
        metavar="NAME",
        help="A name for this very request: given twice, it is done once. For scripts that try again.",
        show_default=False,
    ),
]
Reason: TypeAlias = Annotated[
    str, typer.Option(metavar="TEXT", help="Why: the gateway keeps it, and the timeline shows it.", show_default=False)
]


def capture(
    payment: AnyName,
    *,
    amount: Amount = None,
    reason: Reason = "",
    request: RequestName = None,
    yes: Yes = False,
    as_json: AsJson = False,
) -> None:
    """Charge a reservation, or a part of it: the gateway takes it once, and releases the rest."""
    _do(Kind.CAPTURE, payment, amount=amount, reason=reason, request=request, yes=yes, as_json=as_json)


def void(
    payment: AnyName, *, reason: Reason = "", request: RequestName = None, yes: Yes = False, as_json: AsJson = False
) -> None:
    """Release a reservation as a whole."""
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
            help="Of a split payment: take so much from that one (its UUID, or its name); may be repeated.",
        ),
    ] = None,
    charge: Annotated[
        str | None,
        typer.Option(
            metavar="ID",
            help="Of a later charge of the payment's subscription: what the gateway calls that charge.",
            show_default=False,
        ),
    ] = None,
    reason: Reason = "",
    request: RequestName = None,
    yes: Yes = False,
    as_json: AsJson = False,
) -> None:
    """Give back what was charged, or a part of it."""
    _do(
        Kind.REFUND,
        payment,
        amount=amount,
        taken_from=from_ or (),
        charge_id=charge,
        reason=reason,
        request=request,
        yes=yes,
        as_json=as_json,
    )


def cancel(payment: AnyName, request: RequestName = None, yes: Yes = False, as_json: AsJson = False) -> None:
    """Cancel a payment that the shopper has not paid yet: its page is closed."""
    _do(Kind.CANCEL, payment, request=request, yes=yes, as_json=as_json)


def end_subscription(payment: AnyName, yes: Yes = False, as_json: AsJson = False) -> None:
    """Cancel the subscription that a payment has begun: nothing more is charged for it."""
    aggregate, _ = with_services(lambda services: _found(services, payment))
    if not yes:
        require_somebody_to_ask("confirm with --yes")
        confirm(f"Cancel the subscription of payment {aggregate.payment.order_id}? This cannot be undone.")

    async def do(services: Services) -> PaymentAggregate:
        try:
            return await cancel_subscription(services, aggregate.payment.order_id, getpass.getuser())
        except RefusalError as refusal:
            raise CommandFailed(f"nothing was done: {refusal.message}") from refusal

    ended = with_services(do)
    if as_json:
        show_json({**summary(ended), "subscription": ended.payment.recurring_status})
    else:
        say("The subscription is cancelled: nothing more is charged for it.")


def _do(
    kind: Kind,
    payment: str,
    *,
    amount: str | None = None,
    taken_from: Sequence[str] = (),
    charge_id: str | None = None,
    reason: str = "",
    request: str | None,
    yes: bool,
    as_json: bool,
) -> None:
    aggregate, account = with_services(lambda services: _found(services, payment))
    shares = read_shares(taken_from, names_of(account.split_rules)) or None
    now = balance(aggregate.payment.flow, aggregate.operations)
    step = _step(kind, None if amount is None else read_amount(amount), shares, now, charge_id)
    if kind is Kind.REFUND:
        _warn_of_too_little(account, now.sum(step.amount))
    if not yes:
        require_somebody_to_ask("confirm with --yes")
        confirm(_question(step, now, aggregate.payment.order_id))
    moved = step.amount if kind in {Kind.CAPTURE, Kind.REFUND} else None
    by, key = getpass.getuser(), request or uuid4().hex
    asked = StaffRequest(kind, by=by, key=key, amount=moved, taken_from=shares, charge_id=charge_id, reason=reason)

    async def do(services: Services) -> tuple[PaymentAggregate, Operation]:
        try:
            return await ask_for(services, aggregate.payment.order_id, asked)
        except RefusalError as refusal:
            raise CommandFailed(f"nothing was done: {refusal.message}") from refusal

    _tell(*with_services(do), as_json=as_json)


def _warn_of_too_little(account: MerchantAccount, wanted: Money) -> None:
    """Warn of a refund that the balance at the gateway does not cover. It is asked for briefly, and never needed."""
    has = with_services(lambda services: read_balances(services, account))
    if (words := refund_warning(wanted.amount, wanted.currency, has)) is not None:
        warn(words)


def _step(
    kind: Kind, amount: Decimal | None, shares: Mapping[str, Decimal] | None, now: Balance, charge_id: str | None
) -> Step:
    """Return what is meant; it is judged when it is done. Raises CommandFailed when it is clear that it is in vain."""
    try:
        if charge_id is not None:
            return charge_refund(charge_id, amount, now)
        whole = at_most(kind, now).amount if shares is None else sum(shares.values(), Decimal())
    except RefusalError as refusal:
        raise CommandFailed(f"nothing was done: {refusal.message}") from refusal
    return Step(kind, whole if amount is None else amount)


def _question(step: Step, now: Balance, order_id: str) -> str:
    sum_ = now.sum(step.amount)
    match step.kind:
        case Kind.CAPTURE if step.amount < now.capturable:
            rest = now.sum(now.capturable - step.amount)
            return f"Charge {sum_} of the reservation of payment {order_id}, and release the rest of {rest}?"
        case Kind.CAPTURE:
            return f"Charge the reservation of {sum_} of payment {order_id}?"
        case Kind.VOID:
            return f"Release the reservation of {sum_} of payment {order_id}?"
        case Kind.REFUND:
            return f"Refund {sum_} of payment {order_id}?"
        case _:
            return f"Cancel payment {order_id}, and close its payment page?"


async def _found(services: Services, payment: str) -> tuple[PaymentAggregate, MerchantAccount]:
    async with services.database.transaction() as session:
        aggregate = await find_payment(session, payment)
        return aggregate, await session.get_one(MerchantAccount, aggregate.payment.account_id)


def _tell(aggregate: PaymentAggregate, operation: Operation, *, as_json: bool) -> None:
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
        raise CommandFailed(f"it was not done: {operation.message}")
    if as_json:
        return
    if operation.state is State.SUCCESS:
        say(f"Done: {staff_request(operation)}.")
    elif operation.state is State.WAITING:
        say("Accepted: it is sent when the operation before it is settled.")
    else:
        say("How it ends is not known yet: the app finds out, and tells Saleor.")
