"""Subscriptions. Provisional: the interface mentions them without much detail; these shapes are documented publicly,
elsewhere. They start with an ordinary payment that has ``init_recurring``.
"""

from typing import Any, ClassVar

from gateway_client.models.base import Lenient, RequestModel, ResponseModel
from gateway_client.models.values import Amount, Comment, Currency, Url, Uuid, Word


class SubscriptionRefund(RequestModel):
    """Refunds one charge of a subscription: all of it without ``refund_amount``."""

    _repr_fields: ClassVar[tuple[str, ...]] = ("refund_amount", "order_currency")

    pos_id: Uuid | None = None
    order_currency: Currency
    refund_amount: Amount | None = None
    comment: Comment | None = None
    server_url: Url | None = None


class Subscription(ResponseModel):
    """A subscription after a change. Statuses seen: ``init``, ``active``, ``canceled``."""

    _repr_fields: ClassVar[tuple[str, ...]] = ("recurring_status",)

    recurring_status: Word
    recurring_payment: Lenient[dict[str, Any]] = None
    recurring_config: Lenient[dict[str, Any]] = None
    metadata: Lenient[dict[str, Any]] = None
