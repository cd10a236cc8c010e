"""Actions by staff: requests from the app's pages or a terminal to capture, void, refund or cancel."""

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal

from app.core.ids import GatewayOperationId
from app.core.payment import Operation, PaymentAggregate
from app.core.vocabulary import Kind
from app.flows.actions import perform_action
from app.i18n.messages import LazyMessage
from app.rules.action_request import ActionRequest
from app.rules.answer_status import ACTIONS
from app.rules.balance import ZERO, Balance, check_amount
from app.rules.decisions.action import Step, step_for
from app.rules.refusal import RefusalCode, RefusalError
from app.rules.split.choice import parse_choice
from app.services import Services
from app.store.aggregates import ByOrder
from saleor_app_sdk.responses import AvailableAction


@dataclass(frozen=True, slots=True)
class StaffRequest:
    """A request by a member of staff. ``by`` is the person, ``key`` distinguishes this request from every other one.

    ``amount`` None: for a void or a cancel, which affect the whole; for a refund, the sum of ``taken_from``.
    ``taken_from`` states from which sub-merchants a refund is taken; None: the rules decide. ``charge_id``: refund that
    later charge of the subscription; None: the payment itself. ``reason``: why, for the gateway and the timeline.
    ``is_rest``: ``amount`` was not named, it is all that is possible.
    """

    kind: Kind
    by: str
    key: str
    amount: Decimal | None = None
    taken_from: Mapping[str, Decimal] | None = None
    charge_id: GatewayOperationId | None = None
    reason: str = ""
    is_rest: bool = False


def possible_actions(now: Balance) -> dict[Kind, Step]:
    """Return the actions that staff can request now, each with its largest amount, as reported to Saleor. Pure."""
    most = {AvailableAction.CHARGE: now.capturable, AvailableAction.REFUND: now.refundable}
    steps = [step_for(action, most.get(action, ZERO), now) for action in now.actions]
    return {step.kind: step for step in steps}


def largest_step(kind: Kind, now: Balance) -> Step:
    """Return the step of a kind with the largest possible amount. Raises RefusalError when there is none. Pure."""
    step = possible_actions(now).get(kind)
    return step_for(ACTIONS[kind], ZERO, now, required_kind=kind) if step is None else step


def charge_refund_step(charge_id: GatewayOperationId, amount: Decimal | None, now: Balance) -> Step:
    """Return the refund of a later charge; ``amount`` None: all that is left of it. Raises RefusalError. Pure."""
    wanted = amount if amount is not None else now.refundable_of(charge_id)
    return step_for(AvailableAction.REFUND, wanted, now, required_kind=Kind.REFUND, charge_id=charge_id)


def find_request(aggregate: PaymentAggregate, key: str) -> Operation | None:
    """Return the operation that staff requested under that key, if there is one. Pure."""
    return aggregate.operation_by_key(_operation_key(key))


async def request_action(
    services: Services, order_id: str, staff_request: StaffRequest, *, installation_id: int | None = None
) -> tuple[PaymentAggregate, Operation]:
    """Perform a staff request (see ``perform_action``); return the resulting operation with its payment.

    The same request twice is one operation. Raises RefusalError: then nothing was requested from the gateway, and
    nothing is recorded. ``installation_id``: another store's payment is not found.
    """
    selector = ByOrder(order_id, installation_id=installation_id)
    return await perform_action(services, _action_request(staff_request), selector)


def _action_request(staff_request: StaffRequest) -> ActionRequest:
    taken_from = parse_choice(staff_request.taken_from) if staff_request.taken_from else None
    amount = staff_request.amount
    if taken_from is not None:
        amount = _total_amount(sum(taken_from.values(), ZERO), amount)
    if staff_request.kind in {Kind.CAPTURE, Kind.REFUND}:
        if amount is None or amount <= 0:
            raise RefusalError(
                RefusalCode.INVALID_AMOUNT, LazyMessage("Enter how much: an amount above zero."), "amount"
            )
        check_amount(amount)
    key = _operation_key(staff_request.key)
    return ActionRequest(
        action=ACTIONS[staff_request.kind],
        amount=ZERO if amount is None else amount,
        currency=None,
        keys=(key,),
        by=staff_request.by[:200],
        required_kind=staff_request.kind,
        taken_from=taken_from,
        charge_id=staff_request.charge_id,
        reasons={key: staff_request.reason},
        is_rest=staff_request.is_rest,
    )


def _operation_key(key: str) -> str:
    return f"staff:{key}"


def _total_amount(parts: Decimal, amount: Decimal | None) -> Decimal:
    if amount is not None and amount != parts:
        message = LazyMessage(
            "%(parts)s is taken from the sub-merchants, but %(amount)s is requested: enter the same sum for "
            "both, or only one of the two.",
            parts=parts,
            amount=amount,
        )
        raise RefusalError(RefusalCode.INVALID_AMOUNT, message, "amount")
    return parts
