"""Subscriptions. Provisional: the interface names them and shows little of them; these shapes are documented
publicly, elsewhere. They start with an ordinary payment that carries ``init_recurring``.
"""

from typing import Any, ClassVar

from app.gateway.models.base import Aside, RequestModel, ResponseModel
from app.gateway.models.values import Amount, Comment, Currency, Url, Uuid


class SubscriptionRefund(RequestModel):
    """Give back what one charge of a subscription took: all of it without ``refund_amount``."""

    _shown: ClassVar[tuple[str, ...]] = ("refund_amount", "order_currency")

    pos_id: Uuid | None = None
    order_currency: Currency
    refund_amount: Amount | None = None
    comment: Comment | None = None
    server_url: Url | None = None


class Subscription(ResponseModel):
    """A subscription after a change. Statuses seen: ``init``, ``active``, ``canceled``."""

    _shown: ClassVar[tuple[str, ...]] = ("recurring_status",)

    recurring_status: str
    recurring_payment: Aside[dict[str, Any]] = None
    recurring_config: Aside[dict[str, Any]] = None
    metadata: Aside[dict[str, Any]] = None
