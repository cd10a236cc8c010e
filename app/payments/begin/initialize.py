"""A shopper begins to pay: Saleor's session becomes a payment at the gateway, on its page unless a card is passed.

Intent first, then the call, then the outcome; each step is its own commit, and no transaction is held across the call
(laws of money, 1).
"""

from collections.abc import Sequence
from datetime import timedelta

import structlog

from app.gateway.client import GatewayClient
from app.gateway.errors import GatewayError
from app.gateway.models import Checkout, PaymentRecord
from app.ledger.installations import OpenInstallation
from app.ledger.sheets import Sheet
from app.ledger.tables import State
from app.payments.begin.direct import pay_directly
from app.payments.begin.intent import record_intent
from app.payments.begin.outcome import post_outcome
from app.payments.begin.recorded import as_recorded, recorded_answer
from app.payments.begin.withheld import among_others
from app.payments.deadline import Deadline
from app.payments.desk import Desk
from app.payments.insist import outcome_of
from app.payments.outcome.answers import refused_session, session_answer
from app.payments.outcome.apply import Posting, apply, conclude, note
from app.payments.outcome.errors import is_unknown, post_error, tell_staff
from app.payments.outcome.lost_page import give_up, may_be_given_up
from app.payments.outcome.problems import keys_accepted
from app.payments.outcome.references import keep_reference
from app.payments.outcome.seen import seen_in
from app.payments.plan.storefront import passes_card
from app.payments.plan.terms import HostedPlan, plan_hosted
from app.payments.refusal import Refusal
from app.saleor.answers import SessionAnswer
from app.saleor.events import TransactionInitializeSession, TransactionProcessSession

log = structlog.get_logger(__name__)


async def initialize(
    desk: Desk,
    event: TransactionInitializeSession | TransactionProcessSession,
    installation: OpenInstallation,
    deadline: Deadline | None = None,
) -> SessionAnswer:
    """Answer a session webhook about a transaction that may or may not be known.

    A transaction that is known is not asked for again, however often Saleor repeats itself: it is answered from what
    is recorded (laws of money, 4). That it is known shows when the intent cannot be recorded a second time.

    ``deadline`` is the request's, which has begun when it arrived (11); None: it begins now.
    """
    deadline = deadline or Deadline(desk.schedule.budget.total_seconds())
    account = await desk.accounts.for_channel(installation.id, event.source.channel.slug)
    try:
        if passes_card(event.data):
            return await pay_directly(desk, event, installation, account, deadline)
        plan = plan_hosted(event, account, desk.addresses, installation.saleor_api_url)
        account = plan.terms.account
        client = desk.gateways.client(account)  # keys that do not open fail here, while nothing is recorded yet
        written = await record_intent(
            desk,
            event,
            installation,
            plan.terms,
            plan.request,
            # Known before the link is, and also when the link gets lost: after that nobody can pay any more.
            expires_at=desk.now() + timedelta(seconds=account.order_timeout),
            deadline=deadline,
        )
    except Refusal as refusal:
        # What was taken once stays taken, whatever the store has changed since.
        known = await recorded_answer(desk, installation, event.transaction.id)
        return known or refused_session(event.action.action_type, refusal)
    if written is None:
        return await as_recorded(desk, installation, event.transaction.id)
    sheet = await _create(desk, client, plan, written, event, deadline=deadline)
    return session_answer(sheet, desk.addresses.payment_page(installation.saleor_api_url, sheet.payment.order_id))


async def _create(
    desk: Desk,
    client: GatewayClient,
    plan: HostedPlan,
    written: Sheet,
    event: TransactionInitializeSession | TransactionProcessSession,
    *,
    deadline: Deadline,
) -> Sheet:
    """Ask the gateway, then commit what came of it."""
    outcome = await outcome_of(
        lambda seconds: client.create_hosted(plan.request, qr=plan.terms.data.qr, timeout=seconds),
        deadline,
        desk.schedule,
    )
    posting = Posting(now=desk.now(), schedule=desk.schedule, answering=written.create.id)
    account = plan.terms.account

    def post(sheet: Sheet, attempts: Sequence[Sheet]) -> None:
        post_creation(sheet, outcome, account.pos_id, posting)
        if isinstance(outcome, Checkout):
            among_others(sheet, attempts, posting, replacing=account.cancel_older)
        keep_reference(sheet.payment, sheet.create)

    sheet = await post_outcome(desk, written, post, among=event if isinstance(outcome, Checkout) else None)
    if not isinstance(outcome, GatewayError):
        await keys_accepted(desk, account.id, sheet)
    return sheet


def post_creation(
    sheet: Sheet, outcome: Checkout | PaymentRecord | GatewayError, pos_id: str, posting: Posting
) -> None:
    """Post what came of asking for a payment page: the page, a payment that is over already, or an error.

    Without a readable answer nobody has the link, nor with one that does not name it. The same goes for an order id
    that the gateway knows already.
    """
    match outcome:
        case GatewayError() if is_unknown(outcome) and may_be_given_up(sheet):
            log.warning("the link of a payment page is lost", order_id=sheet.payment.order_id, error=str(outcome))
            tell_staff(sheet, outcome, posting.now)
            give_up(sheet, posting)
        case GatewayError():
            post_error(sheet, sheet.create, outcome, posting)
        case Checkout():
            _open_page(sheet, outcome, posting)
        case PaymentRecord():
            seen = seen_in(outcome, sheet.payment.language)
            apply(sheet, pos_id, [seen] if seen else [], posting)
            give_up(sheet, posting)


def _open_page(sheet: Sheet, checkout: Checkout, posting: Posting) -> None:
    """Post the link. The gateway's notification can have come before it: then the state is further along already.

    One that has failed gets no link any more: it may have been given up, because the answer came too late.
    """
    payment, create = sheet.payment, sheet.create
    if create.state is State.FAILURE:
        return
    payment.checkout_url = checkout.checkout_url
    payment.qr_url = checkout.qr_url
    if create.state.rank > State.INIT.rank:
        return
    message = f"Waiting for the shopper on the payment page until {payment.expires_at:%Y-%m-%d %H:%M} UTC"
    conclude(sheet, create, State.INIT, posting, message=message)
    # Saleor reads our answer first. And who pays at once makes the note needless: it is not told then.
    note(sheet, message, posting, due=posting.now + posting.schedule.answer_window)
