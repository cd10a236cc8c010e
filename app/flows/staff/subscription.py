"""Cancellation by staff of the subscription that a payment has begun: the gateway charges nothing more for it.

It moves no money and is idempotent, so it needs no intent and may be retried (laws of money, 2).
"""

import structlog

from app.core.payment import PaymentAggregate, row_id_of
from app.core.text import fit_text
from app.core.vocabulary import SUBSCRIPTION_CANCELED
from app.flows.look_up import client_of
from app.flows.on_demand import look_up_now
from app.i18n.messages import LazyMessage, Verbatim, gettext_noop
from app.rules.call_errors import KEYS_NOT_OPENED, KeysNotOpenedError, message_of_passing, reason_of
from app.rules.decisions.subscription_end import SubscriptionCancelled
from app.rules.refusal import RefusalCode, RefusalError
from app.rules.subscription import Subscription, has_running_subscription
from app.services import Services
from app.store.aggregates import ById, ByOrder, account_of
from gateway_client.errors import GatewayError, RefusedError

log = structlog.get_logger(__name__)

_LONGEST_STATUS = 40

_NO_SUBSCRIPTION = LazyMessage("This payment has started no subscription that could be cancelled.")
_REFUSED = gettext_noop(
    "The gateway refused to cancel the subscription: “%(reason)s”. It is still running: cancel it in the merchant "
    "portal."
)
_STILL_RUNNING = gettext_noop(
    "The gateway now reports the status “%(status)s” for the subscription, not that it is cancelled. Try again in a "
    "minute, or cancel it in the merchant portal."
)
_OUTCOME_UNKNOWN = gettext_noop("The gateway did not say whether it cancelled the subscription. Try again in a minute.")
_UNREADABLE = gettext_noop(
    "The gateway did not say whether it cancelled the subscription, but responded: “%(said)s”. Try again in a minute."
)


async def cancel_subscription(
    services: Services, order_id: str, by: str, *, installation_id: int | None = None
) -> PaymentAggregate:
    """Cancel a payment's subscription, and report to Saleor that ``by`` has done so; return the updated payment.

    A subscription that is already cancelled stays so, without a request. If the gateway refuses, or its response is
    lost, the subscription's status is looked up. Raises RefusalError; ``installation_id``: another store's payment is
    not found.
    """
    which = ByOrder(order_id, installation_id=installation_id)
    found = await services.payments.find(which)
    if found is None:
        raise RefusalError(RefusalCode.UNKNOWN_PAYMENT, LazyMessage("There is no such payment."))
    recurring_id = found.payment.recurring_id
    if recurring_id is None:
        raise RefusalError(RefusalCode.NOT_POSSIBLE, _NO_SUBSCRIPTION)
    if not has_running_subscription(found.payment):
        return found
    status = await _cancel_at_gateway(services, found, recurring_id)
    cancelled = SubscriptionCancelled(Subscription(recurring_id, status), by, services.decision_context())
    return await services.payments.record(ById(row_id_of(found.payment)), cancelled)


async def _cancel_at_gateway(services: Services, aggregate: PaymentAggregate, recurring_id: str) -> str:
    """Cancel the subscription at the gateway; return its new status. Raises RefusalError."""
    try:
        client = client_of(services, account_of(aggregate.payment))
        answer = await client.subscriptions.cancel(recurring_id, timeout=services.schedule.budget.total_seconds())
    except KeysNotOpenedError:
        raise RefusalError(RefusalCode.NOT_POSSIBLE, LazyMessage(KEYS_NOT_OPENED)) from None
    except GatewayError as error:
        log.warning("subscription.not_cancelled", payment=aggregate.payment.order_id, error=str(error))
        await look_up_now(services, aggregate.payment.order_id)
        now = await services.payments.find(ById(row_id_of(aggregate.payment)))
        if now is not None and not has_running_subscription(now.payment):
            return SUBSCRIPTION_CANCELED
        raise RefusalError(RefusalCode.NOT_POSSIBLE, _why_not(error)) from error
    if answer.recurring_status != SUBSCRIPTION_CANCELED:
        reported = LazyMessage(_STILL_RUNNING, status=Verbatim(fit_text(answer.recurring_status, _LONGEST_STATUS)))
        raise RefusalError(RefusalCode.NOT_POSSIBLE, reported)
    return SUBSCRIPTION_CANCELED


def _why_not(error: GatewayError) -> LazyMessage:
    """Return the message for staff of a cancellation that failed, or may have."""
    passing = message_of_passing(error)
    if passing is not None:
        return LazyMessage(passing)
    if isinstance(error, RefusedError):
        code = f" [{error.code}]" if error.code else ""
        return LazyMessage(_REFUSED, reason=Verbatim(reason_of(error) + code))
    return LazyMessage(_UNREADABLE, said=Verbatim(error.said)) if error.said else LazyMessage(_OUTCOME_UNKNOWN)
