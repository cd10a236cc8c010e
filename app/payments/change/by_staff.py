"""Our own door: staff ask in the app's pages, or in a terminal, to capture, void, refund or cancel."""

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal

from app.ledger.repository import ByOrder
from app.ledger.sheets import Sheet
from app.ledger.tables import Kind, Operation
from app.payments.change.act import Step, act, step_for
from app.payments.change.asked import Asked
from app.payments.desk import Desk
from app.payments.outcome.balance import ZERO, Balance
from app.payments.outcome.reading import ACTIONS
from app.payments.plan.terms import check_amount
from app.payments.refusal import Refusal, RefusalCode
from app.payments.said import Said
from app.payments.split.choice import readable
from app.saleor.answers import AvailableAction


@dataclass(frozen=True, slots=True)
class Wish:
    """What a member of staff wants done. ``by`` is the person, ``key`` tells this wish from every other one.

    ``amount`` None: of a void or a cancel, which are of the whole; of a refund, the sum of ``taken_from``.
    ``taken_from`` says from which sub-merchants a refund is taken; None: the rules say.
    """

    kind: Kind
    by: str
    key: str
    amount: Decimal | None = None
    taken_from: Mapping[str, Decimal] | None = None


def possible(now: Balance) -> dict[Kind, Step]:
    """Return what staff can ask now, each with the most that it can be: the same that Saleor is told. Pure."""
    most = {AvailableAction.CHARGE: now.capturable, AvailableAction.REFUND: now.refundable}
    steps = [step_for(action, most.get(action, ZERO), now) for action in now.actions]
    return {step.kind: step for step in steps}


def at_most(kind: Kind, now: Balance) -> Step:
    """Return the most that can be done of a kind. Raises Refusal when that is nothing. Pure."""
    step = possible(now).get(kind)
    return step_for(ACTIONS[kind], ZERO, now, strictly=kind) if step is None else step


async def ask_for(
    desk: Desk, order_id: str, wish: Wish, *, installation_id: int | None = None
) -> tuple[Sheet, Operation]:
    """Do what staff want (see ``act``); return the operation that came of it, with its sheet.

    The same wish twice is one operation. Raises Refusal: nothing was asked of the gateway then, and nothing is
    recorded. ``installation_id``: another store's payment is not found.
    """
    which = ByOrder(order_id, installation_id=installation_id)
    return await act(desk, _asked(wish), which)


def _asked(wish: Wish) -> Asked:
    taken_from = readable(wish.taken_from) if wish.taken_from else None
    amount = wish.amount
    if taken_from is not None:
        amount = _whole(sum(taken_from.values(), ZERO), amount)
    if wish.kind in {Kind.CAPTURE, Kind.REFUND}:
        if amount is None or amount <= 0:
            raise Refusal(RefusalCode.INVALID_AMOUNT, Said("Say how much: the amount is above zero."), "amount")
        check_amount(amount)
    return Asked(
        action=ACTIONS[wish.kind],
        amount=ZERO if amount is None else amount,
        currency=None,
        keys=(f"staff:{wish.key}",),
        by=wish.by[:200],
        strictly=wish.kind,
        taken_from=taken_from,
    )


def _whole(parts: Decimal, amount: Decimal | None) -> Decimal:
    if amount is not None and amount != parts:
        words = Said(
            "%(parts)s is taken from the sub-merchants, but %(amount)s is asked: say the same sum, or leave one out.",
            parts=parts,
            amount=amount,
        )
        raise Refusal(RefusalCode.INVALID_AMOUNT, words, "amount")
    return parts
