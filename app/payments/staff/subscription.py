"""Staff end the subscription that a payment has begun: the gateway charges nothing more for it.

This moves no money, and asked twice it does the same: so it needs no intent, and may be tried again (laws of money, 2).
"""

import structlog

from app.db.aggregates import ById, ByOrder, PaymentAggregate, row_id_of
from app.gateway.errors import GatewayError, KeysNotOpenedError
from app.i18n.messages import LazyMessage
from app.payments.core.apply import note
from app.payments.core.call_errors import KEYS_NOT_OPENED
from app.payments.core.references import reference_of_subscription_end
from app.payments.core.refusal import RefusalCode, RefusalError
from app.payments.core.subscription import CANCELED, Subscription, follow_subscription, goes_on
from app.payments.operations.look_up import opened
from app.payments.services import Services
from app.payments.sync.on_demand import ask_now

log = structlog.get_logger(__name__)

_NONE = LazyMessage("This payment has begun no subscription that could be cancelled.")
_NOT_KNOWN = LazyMessage("The gateway did not say whether it has cancelled the subscription. Try again in a minute.")


async def cancel_subscription(
    services: Services, order_id: str, by: str, *, installation_id: int | None = None
) -> PaymentAggregate:
    """Cancel a payment's subscription, and tell Saleor that ``by`` has done so; return the payment as it is then.

    One that is cancelled already stays so, and nobody is asked. If the gateway refuses, or its answer is lost, it is
    asked how the subscription stands. Raises RefusalError; ``installation_id``: another store's payment is not found.
    """
    which = ByOrder(order_id, installation_id=installation_id)
    found = await services.payments.find(which)
    if found is None:
        raise RefusalError(RefusalCode.UNKNOWN_PAYMENT, LazyMessage("There is no such payment."))
    recurring_id = found.payment.recurring_id
    if recurring_id is None:
        raise RefusalError(RefusalCode.NOT_POSSIBLE, _NONE)
    if not goes_on(found.payment):
        return found
    status = await _asked(services, found, recurring_id)
    posting = services.posting()

    def step(locked: PaymentAggregate) -> PaymentAggregate:
        ended_here = goes_on(locked.payment)
        follow_subscription(locked.payment, Subscription(recurring_id, status))
        if ended_here:
            locked.payment.updated_at = posting.now
            words = f"Staff cancelled the subscription in the app ({by})"
            note(locked, words, posting, reference=reference_of_subscription_end(order_id))
        return locked

    payment = await services.payments.update(ById(row_id_of(found.payment)), step)
    services.wake_for([payment])
    return payment


async def _asked(services: Services, aggregate: PaymentAggregate, recurring_id: str) -> str:
    """Return the status to which the gateway has brought the subscription. Raises RefusalError."""
    try:
        client = opened(services, aggregate.payment.account)
        answer = await client.subscriptions.cancel(recurring_id, timeout=services.schedule.budget.total_seconds())
    except KeysNotOpenedError:
        raise RefusalError(RefusalCode.NOT_POSSIBLE, LazyMessage(KEYS_NOT_OPENED)) from None
    except GatewayError as error:
        log.warning("subscription not cancelled", payment=aggregate.payment.order_id, error=str(error))
        await ask_now(services, aggregate.payment.order_id)
        now = await services.payments.find(ById(row_id_of(aggregate.payment)))
        if now is not None and not goes_on(now.payment):
            return CANCELED
        raise RefusalError(RefusalCode.NOT_POSSIBLE, _NOT_KNOWN) from error
    if answer.recurring_status != CANCELED:
        raise RefusalError(RefusalCode.NOT_POSSIBLE, _NOT_KNOWN)
    return CANCELED
