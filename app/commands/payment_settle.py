"""``payments settle`` and ``payments resend``: for when staff cannot wait, or the gateway gives no usable answer."""

from enum import StrEnum
from typing import Annotated

import typer

from app.commands.arguments import read_amount
from app.commands.failure import CommandFailed
from app.commands.finders import find_payment
from app.commands.payment_view import AnyName, summary
from app.commands.services import with_services
from app.commands.system_user import user_name
from app.commands.terminal import AsJson, confirm, print_line, print_warning, require_interactive, show_json
from app.core.payment import Operation, PaymentAggregate
from app.core.vocabulary import State
from app.flows.on_demand import ResendResult, look_up_now, request_notifications
from app.flows.staff.manual_resolution import Decision, operation_to_settle, settle
from app.i18n.messages import Money
from app.reports.status import standing
from app.rules.problems import problem_text
from app.rules.refusal import RefusalError
from app.services import Services
from app.store.aggregates import find_by_order
from gateway_client.errors import GatewayError
from gateway_client.models import Method

_LONGEST_NAME = 256


class Outcome(StrEnum):
    """The outcome that a person has determined."""

    SUCCESS = "success"
    FAILURE = "failure"


def settle_payment(
    payment: AnyName,
    *,
    outcome: Annotated[
        Outcome | None,
        typer.Option("--as", help="Settle an operation by hand, with the outcome that you see in the merchant portal."),
    ] = None,
    amount: Annotated[
        str | None,
        typer.Option(
            metavar="AMOUNT", help="With --as success: the amount that really moved, if not the requested one."
        ),
    ] = None,
    reason: Annotated[
        str | None,
        typer.Option(
            metavar="TEXT", help="With --as: the reason; it is recorded in the timeline and reported to Saleor."
        ),
    ] = None,
    by: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="With --as: who decided this. Default: your user on this machine."),
    ] = None,
    operation: Annotated[
        int | None, typer.Option(metavar="NUMBER", help="With --as: which operation, if several are open.")
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask for confirmation.")] = False,
    as_json: AsJson = False,
) -> None:
    """Look up a payment at the gateway now, and record the result.

    With --as: settle an operation by hand, when the gateway's record is gone or contradicts what really happened.
    The gateway is not queried then: your decision is recorded, with your name and reason, and reported to Saleor.
    """
    if outcome is None:
        if any(given is not None for given in (amount, reason, by, operation)):
            raise CommandFailed("--amount, --reason, --by and --operation require --as", status=2)
        _look_up(payment, as_json=as_json)
        return
    if not (reason or "").strip():
        raise CommandFailed("give a --reason: it is recorded in the payment's timeline", status=2)
    aggregate, found = with_services(lambda services: _find_operation(services, payment, operation))
    decision = Decision(
        state=State(outcome.value),
        by=(by or "").strip() or user_name(),
        reason=(reason or "").strip(),
        amount=None if amount is None else read_amount(amount, found.currency),
    )
    if not yes:
        require_interactive("confirm with --yes")
        sum_ = Money(decision.amount or found.amount, found.currency)
        confirm(
            f"Settle the {found.kind.value} of {sum_} of order {aggregate.payment.order_id} as "
            f"{outcome.value}, and report this to Saleor?"
        )

    async def do(services: Services) -> PaymentAggregate:
        try:
            return await settle(services, aggregate.payment.order_id, found.id, decision)
        except RefusalError as refusal:
            raise CommandFailed(f"nothing was changed: {refusal.message}") from refusal

    _print_payment(with_services(do), as_json=as_json)


def resend(
    payment: AnyName,
    *,
    method: Annotated[Method | None, typer.Option(help="Only notifications of this kind. Default: all kinds.")] = None,
    transaction_id: Annotated[
        str | None,
        typer.Option(
            metavar="ID", help="With --method purchase, for a subscription: only notifications of this payment."
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Ask the gateway to send its notifications of a payment again."""

    if transaction_id is not None:
        if method is not Method.PURCHASE:
            raise CommandFailed("--transaction-id requires --method purchase", status=2)
        if not transaction_id or len(transaction_id) > _LONGEST_NAME or not transaction_id.isprintable():
            raise CommandFailed("--transaction-id: this is not a valid gateway ID", status=2)

    async def do(services: Services) -> tuple[str, list[ResendResult]]:
        async with services.database.transaction() as session:
            order_id = (await find_payment(session, payment)).payment.order_id
        return order_id, await request_notifications(services, order_id, method, transaction_id=transaction_id)

    order_id, answers = with_services(do)
    if as_json:
        show_json(
            [
                {
                    "order_id": order_id,
                    "method": answer.method.value,
                    "records": answer.records,
                    "error": _error_message(answer.error),
                }
                for answer in answers
            ]
        )
    for answer in answers:
        if answer.error is not None:
            print_warning(f"{answer.method}: {_error_message(answer.error)}")
        elif not as_json:
            print_line(
                f"{answer.method}: "
                + ("the gateway sends its notifications again" if answer.records else "the gateway has no record")
            )
    if any(answer.error is not None for answer in answers):
        raise CommandFailed("the gateway did not accept all requests")


def _look_up(payment: str, *, as_json: bool) -> None:
    async def do(services: Services) -> tuple[PaymentAggregate, GatewayError | None]:
        async with services.database.transaction() as session:
            order_id = (await find_payment(session, payment)).payment.order_id
        try:
            error = await look_up_now(services, order_id)
        except RefusalError as refusal:
            raise CommandFailed(refusal.message) from refusal
        async with services.database.transaction() as session:
            aggregate = await find_by_order(session, order_id)
        assert aggregate is not None  # noqa: S101 - payments are never deleted
        return aggregate, error

    aggregate, error = with_services(do)
    if error is not None:
        raise CommandFailed(f"the request to the gateway failed: {_error_message(error)}")
    _print_payment(aggregate, as_json=as_json)


async def _find_operation(services: Services, payment: str, row_id: int | None) -> tuple[PaymentAggregate, Operation]:
    async with services.database.transaction() as session:
        aggregate = await find_payment(session, payment)
    try:
        return aggregate, operation_to_settle(aggregate, row_id)
    except RefusalError as refusal:
        raise CommandFailed(refusal.message) from refusal


def _print_payment(aggregate: PaymentAggregate, *, as_json: bool) -> None:
    if as_json:
        show_json(summary(aggregate))
        return
    print_line(f"{aggregate.payment.order_id}: {standing(aggregate)}")
    if (problem := problem_text(aggregate.payment)) is not None:
        print_warning(problem)


def _error_message(error: GatewayError | None) -> str | None:
    return None if error is None else error.message
