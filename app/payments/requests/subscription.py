"""How a payment begins a subscription. Provisional: the interface names subscriptions, and not how they begin.

The fields are those of the gateway facts, 6. What is charged later is the payment's own amount: a storefront, which
anybody can play, has no say in it.
"""

from app.db.tables import Flow, MerchantAccount
from app.gateway.errors import InvalidRequestError
from app.gateway.models.details import RecurringPlan
from app.payments.core.refusal import RefusalCode, RefusalError
from app.payments.requests.storefront import Plan

_FIELD = "data.subscription"
_OFF = "This store begins no subscriptions."
_RESERVED = "A subscription begins with a payment that is charged at once, not with a reservation."
_SPLIT = "A payment that is split between sub-merchants cannot begin a subscription."


def recurring_plan(account: MerchantAccount, plan: Plan | None, flow: Flow, *, is_split: bool) -> RecurringPlan | None:
    """Return what the gateway is told of a subscription; None: the payment begins none. Raises RefusalError.

    Where the account begins none the payment is refused: the shopper has been promised more than one payment.
    """
    if plan is None:
        return None
    for refused, words in ((not account.subscriptions, _OFF), (flow is not Flow.CHARGE, _RESERVED), (is_split, _SPLIT)):
        if refused:
            raise RefusalError(RefusalCode.INVALID_DATA, words, _FIELD)
    try:
        return RecurringPlan(
            interval_unit=plan.interval,
            interval_count=plan.every,
            start_date=plan.starts_on,
            expiry_date=plan.ends_on,
        )
    except InvalidRequestError as exc:
        words = f"The gateway does not take this subscription: {exc.message}."
        raise RefusalError(RefusalCode.INVALID_DATA, words, _FIELD) from exc
