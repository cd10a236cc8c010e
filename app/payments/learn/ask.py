"""Staff do not want to wait: the gateway is asked now, or asked to notify again."""

from dataclasses import dataclass

from app.gateway.errors import GatewayError, KeysNotOpened
from app.gateway.models import Records
from app.gateway.models.values import Method
from app.ledger.sheets import Sheet, find_by_order, load_by_order, row_id_of
from app.ledger.tables import Flow, Kind, MerchantAccount, Operation, State
from app.payments.deadline import Deadline
from app.payments.desk import Desk
from app.payments.learn.settle import look
from app.payments.learn.unreadable import mind_unreadable
from app.payments.look_up import opened, shown_at_gateway
from app.payments.outcome.apply import Posting, apply
from app.payments.outcome.balance import in_flight
from app.payments.refusal import Refusal, RefusalCode
from app.payments.said import Said

_BEING_ASKED = Said("The gateway is being asked at this moment: try again in a minute.")
_METHODS = {Kind.CAPTURE: Method.CAPTURE, Kind.VOID: Method.VOID, Kind.REFUND: Method.REFUND}


@dataclass(frozen=True, slots=True)
class Resent:
    """What came of asking for notifications of one kind: how many records the gateway has, or why it does not say."""

    method: Method
    records: int
    error: GatewayError | None = None


async def ask_now(desk: Desk, order_id: str) -> GatewayError | None:
    """Look a payment up now and post what is found, as the worker does when it is due; return why it failed, if so.

    A payment with nothing open is looked up too: others may have acted on it (laws of money, 10). Raises Refusal.
    """
    sheet, account = await _read(desk, order_id)
    deadline = Deadline(desk.schedule.budget.total_seconds())
    waiting_for = _first_open(sheet)
    if waiting_for is None:
        return await _compare(desk, account, sheet, deadline)
    calling_until = desk.schedule.after_intent(waiting_for.updated_at)
    if waiting_for.state is State.INTENT and desk.now() < calling_until:
        raise Refusal(RefusalCode.NOT_POSSIBLE, _BEING_ASKED)
    return await look(desk, row_id_of(waiting_for), deadline)


async def ask_to_notify(desk: Desk, order_id: str) -> list[Resent]:
    """Ask the gateway to notify us again of everything that was done with a payment (gateway interface, 9)."""
    sheet, account = await _read(desk, order_id)
    try:
        client = opened(desk, account)
    except KeysNotOpened as error:
        return [Resent(Method.PURCHASE if sheet.payment.flow is Flow.CHARGE else Method.AUTH, 0, error)]
    first = Method.PURCHASE if sheet.payment.flow is Flow.CHARGE else Method.AUTH
    done = [first, *(_METHODS[each.kind] for each in sheet.operations if each.kind in _METHODS)]
    answers = []
    for method in dict.fromkeys(done):
        try:
            records = await client.resend(order_id, method, timeout=desk.schedule.budget.total_seconds())
        except GatewayError as error:
            answers.append(Resent(method, 0, error))
        else:
            answers.append(Resent(method, len(records)))
    return answers


async def records_now(desk: Desk, order_id: str) -> Records | GatewayError:
    """Return what the gateway has of a payment at this moment, or why it does not say; nothing is made of it."""
    sheet, account = await _read(desk, order_id)
    try:
        return await opened(desk, account).order(sheet.payment.order_id, timeout=desk.schedule.budget.total_seconds())
    except GatewayError as error:
        return error


def _first_open(sheet: Sheet) -> Operation | None:
    """Return what a look-up is for: what is in flight, or the payment itself, or what waits for its turn."""
    unsettled = [each for each in sheet.operations if not each.state.final]
    return min(unsettled, key=lambda each: (not in_flight(each), each.state is State.WAITING), default=None)


async def _read(desk: Desk, order_id: str) -> tuple[Sheet, MerchantAccount]:
    async with desk.database.transaction() as session:
        sheet = await find_by_order(session, order_id)
        if sheet is None:
            raise Refusal(RefusalCode.UNKNOWN_PAYMENT, Said("There is no such payment."))
        account = await session.get(MerchantAccount, sheet.payment.account_id)
    assert account is not None  # noqa: S101 - an account with payments is never deleted
    return sheet, account


async def _compare(desk: Desk, account: MerchantAccount, sheet: Sheet, deadline: Deadline) -> GatewayError | None:
    records = await shown_at_gateway(desk, account, sheet.payment, deadline)
    if isinstance(records, GatewayError):
        return records
    async with desk.database.transaction() as session:
        locked = await load_by_order(session, sheet.payment.order_id)
        assert locked is not None  # noqa: S101 - payments are never deleted
        apply(locked, account.pos_id, records, Posting(now=desk.now(), schedule=desk.schedule))
        mind_unreadable(locked, records, desk.now())
        session.add_all([*locked.operations, *locked.events])
    desk.wake_for([locked])
    return None
