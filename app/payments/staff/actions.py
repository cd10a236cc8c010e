"""Our own door: staff ask in the app's pages, or in a terminal, to capture, void, refund or cancel."""

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal

from app.db.aggregates import ByOrder, PaymentAggregate
from app.db.tables import Kind, Operation
from app.i18n.messages import LazyMessage
from app.payments.core.action_request import ActionRequest
from app.payments.core.balance import ZERO, Balance, check_amount
from app.payments.core.reading import ACTIONS
from app.payments.core.refusal import RefusalCode, RefusalError
from app.payments.operations.actions import Step, act, step_for
from app.payments.services import Services
from app.payments.split.choice import readable
from app.saleor.answers import AvailableAction


@dataclass(frozen=True, slots=True)
class StaffRequest:
    """What a member of staff wants done. ``by`` is the person, ``key`` tells this wish from every other one.

    ``amount`` None: of a void or a cancel, which are of the whole; of a refund, the sum of ``taken_from``.
    ``taken_from`` says from which sub-merchants a refund is taken; None: the rules say. ``charge_id``: a refund is of
    that later charge of the subscription; None: of the payment itself. ``reason``: why, for the gateway and the
    timeline.
    """

    kind: Kind
    by: str
    key: str
    amount: Decimal | None = None
    taken_from: Mapping[str, Decimal] | None = None
    charge_id: str | None = None
    reason: str = ""


def possible(now: Balance) -> dict[Kind, Step]:
    """Return what staff can ask now, each with the most that it can be: the same that Saleor is told. Pure."""
    most = {AvailableAction.CHARGE: now.capturable, AvailableAction.REFUND: now.refundable}
    steps = [step_for(action, most.get(action, ZERO), now) for action in now.actions]
    return {step.kind: step for step in steps}


def at_most(kind: Kind, now: Balance) -> Step:
    """Return the most that can be done of a kind. Raises RefusalError when that is nothing. Pure."""
    step = possible(now).get(kind)
    return step_for(ACTIONS[kind], ZERO, now, strictly=kind) if step is None else step


def charge_refund(charge_id: str, amount: Decimal | None, now: Balance) -> Step:
    """Return the refund of a later charge; ``amount`` None: of all that is left. Raises RefusalError. Pure."""
    left = next((each.refundable for each in now.recurring if each.id == charge_id), ZERO)
    asked = amount if amount is not None else left
    return step_for(AvailableAction.REFUND, asked, now, strictly=Kind.REFUND, charge_id=charge_id)


async def ask_for(
    services: Services, order_id: str, staff_request: StaffRequest, *, installation_id: int | None = None
) -> tuple[PaymentAggregate, Operation]:
    """Do what staff want (see ``act``); return the operation that came of it, with its payment.

    The same wish twice is one operation. Raises RefusalError: nothing was asked of the gateway then, and nothing is
    recorded. ``installation_id``: another store's payment is not found.
    """
    which = ByOrder(order_id, installation_id=installation_id)
    return await act(services, _asked(staff_request), which)


def _asked(staff_request: StaffRequest) -> ActionRequest:
    taken_from = readable(staff_request.taken_from) if staff_request.taken_from else None
    amount = staff_request.amount
    if taken_from is not None:
        amount = _whole(sum(taken_from.values(), ZERO), amount)
    if staff_request.kind in {Kind.CAPTURE, Kind.REFUND}:
        if amount is None or amount <= 0:
            raise RefusalError(
                RefusalCode.INVALID_AMOUNT, LazyMessage("Say how much: the amount is above zero."), "amount"
            )
        check_amount(amount)
    key = f"staff:{staff_request.key}"
    return ActionRequest(
        action=ACTIONS[staff_request.kind],
        amount=ZERO if amount is None else amount,
        currency=None,
        keys=(key,),
        by=staff_request.by[:200],
        strictly=staff_request.kind,
        taken_from=taken_from,
        charge_id=staff_request.charge_id,
        reasons={key: staff_request.reason},
    )


def _whole(parts: Decimal, amount: Decimal | None) -> Decimal:
    if amount is not None and amount != parts:
        words = LazyMessage(
            "%(parts)s is taken from the sub-merchants, but %(amount)s is asked: say the same sum, or leave one out.",
            parts=parts,
            amount=amount,
        )
        raise RefusalError(RefusalCode.INVALID_AMOUNT, words, "amount")
    return parts
