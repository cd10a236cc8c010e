"""``payments settle`` and ``payments resend``: when staff cannot wait, or the gateway's word is not to be had."""

import getpass
from enum import StrEnum
from typing import Annotated

import typer

from app.commands.amounts import read_amount
from app.commands.failure import CommandFailed
from app.commands.finding import find_payment
from app.commands.opening import with_services
from app.commands.payment_view import AnyName, summary
from app.commands.terminal import AsJson, confirm, require_somebody_to_ask, say, show_json, warn
from app.db.aggregates import PaymentAggregate, find_by_order
from app.db.tables import Operation, State
from app.gateway.errors import GatewayError
from app.gateway.models import Method
from app.payments.core.problems import problem_words
from app.payments.core.refusal import RefusalError
from app.payments.services import Services
from app.payments.staff.manual_resolution import Decision, operation_to_settle, settle
from app.payments.staff.status import standing
from app.payments.sync.on_demand import Resent, ask_now, ask_to_notify

_LONGEST_NAME = 256


class Outcome(StrEnum):
    """What a person has found out."""

    SUCCESS = "success"
    FAILURE = "failure"


def settle_payment(
    payment: AnyName,
    *,
    outcome: Annotated[
        Outcome | None,
        typer.Option(
            "--as", help="Settle an operation by hand, as you have seen in the merchant portal that it ended."
        ),
    ] = None,
    amount: Annotated[
        str | None,
        typer.Option(metavar="AMOUNT", help="With --as success: what really moved, if not what was asked."),
    ] = None,
    reason: Annotated[
        str | None, typer.Option(metavar="TEXT", help="With --as: why; it is kept in the timeline and told to Saleor.")
    ] = None,
    by: Annotated[
        str | None, typer.Option(metavar="NAME", help="With --as: who says so. The account on this machine by default.")
    ] = None,
    operation: Annotated[
        int | None, typer.Option(metavar="NUMBER", help="With --as: which operation, if it is not the only open one.")
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask for confirmation.")] = False,
    as_json: AsJson = False,
) -> None:
    """Look a payment up at the gateway now, and post what is found.

    With --as: settle an operation by hand, when the gateway's record is gone or contradicts what really happened.
    Nothing is asked of the gateway then: what you say is recorded, with your name and reason, and told to Saleor.
    """
    if outcome is None:
        if any(each is not None for each in (amount, reason, by, operation)):
            raise CommandFailed("--amount, --reason, --by and --operation go with --as", status=2)
        _look(payment, as_json=as_json)
        return
    if not (reason or "").strip():
        raise CommandFailed("say with --reason why: it is kept in the payment's timeline", status=2)
    decision = Decision(
        state=State(outcome.value),
        by=(by or "").strip() or getpass.getuser(),
        reason=(reason or "").strip(),
        amount=None if amount is None else read_amount(amount),
    )
    aggregate, meant = with_services(lambda services: _meant(services, payment, operation))
    if not yes:
        require_somebody_to_ask("confirm with --yes")
        sum_ = decision.amount or meant.amount
        confirm(
            f"Settle the {meant.kind.value} of {sum_} {meant.currency} of order {aggregate.payment.order_id} as "
            f"{outcome.value}, and tell Saleor so?"
        )

    async def do(services: Services) -> PaymentAggregate:
        try:
            return await settle(services, aggregate.payment.order_id, meant.id, decision)
        except RefusalError as refusal:
            raise CommandFailed(f"nothing was changed: {refusal.message}") from refusal

    _tell(with_services(do), as_json=as_json)


def resend(
    payment: AnyName,
    *,
    method: Annotated[Method | None, typer.Option(help="Only of that; of all that was done unless given.")] = None,
    transaction_id: Annotated[
        str | None,
        typer.Option(metavar="ID", help="With --method purchase, of a subscription: only of that one of its payments."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Ask the gateway to send its notifications of a payment again."""

    if transaction_id is not None:
        if method is not Method.PURCHASE:
            raise CommandFailed("--transaction-id goes with --method purchase", status=2)
        if not transaction_id or len(transaction_id) > _LONGEST_NAME or not transaction_id.isprintable():
            raise CommandFailed("--transaction-id: this is no name that the gateway gives", status=2)

    async def do(services: Services) -> tuple[str, list[Resent]]:
        async with services.database.transaction() as session:
            order_id = (await find_payment(session, payment)).payment.order_id
        return order_id, await ask_to_notify(services, order_id, method, transaction_id=transaction_id)

    order_id, answers = with_services(do)
    if as_json:
        show_json(
            [
                {
                    "order_id": order_id,
                    "method": each.method.value,
                    "records": each.records,
                    "error": _words(each.error),
                }
                for each in answers
            ]
        )
    for each in answers:
        if each.error is not None:
            warn(f"{each.method}: {_words(each.error)}")
        elif not as_json:
            say(f"{each.method}: " + ("the gateway notifies again" if each.records else "the gateway has no record"))
    if any(each.error is not None for each in answers):
        raise CommandFailed("the gateway did not take all of it")


def _look(payment: str, *, as_json: bool) -> None:
    async def do(services: Services) -> tuple[PaymentAggregate, GatewayError | None]:
        async with services.database.transaction() as session:
            order_id = (await find_payment(session, payment)).payment.order_id
        try:
            error = await ask_now(services, order_id)
        except RefusalError as refusal:
            raise CommandFailed(refusal.message) from refusal
        async with services.database.transaction() as session:
            aggregate = await find_by_order(session, order_id)
        assert aggregate is not None  # noqa: S101 - payments are never deleted
        return aggregate, error

    aggregate, error = with_services(do)
    if error is not None:
        raise CommandFailed(f"the gateway could not be asked: {_words(error)}")
    _tell(aggregate, as_json=as_json)


async def _meant(services: Services, payment: str, row_id: int | None) -> tuple[PaymentAggregate, Operation]:
    async with services.database.transaction() as session:
        aggregate = await find_payment(session, payment)
    try:
        return aggregate, operation_to_settle(aggregate, row_id)
    except RefusalError as refusal:
        raise CommandFailed(refusal.message) from refusal


def _tell(aggregate: PaymentAggregate, *, as_json: bool) -> None:
    if as_json:
        show_json(summary(aggregate))
        return
    say(f"{aggregate.payment.order_id}: {standing(aggregate)}")
    if (problem := problem_words(aggregate.payment)) is not None:
        warn(problem)


def _words(error: GatewayError | None) -> str | None:
    return None if error is None else error.message
