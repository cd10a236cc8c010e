"""Payments as shoppers see them, and strategies that make any."""

from dataclasses import replace
from decimal import Decimal
from typing import Any

from hypothesis import strategies as st

from app.i18n.translation import LANGUAGES
from app.web.shopper.view import PaymentState, PaymentView

SHOP = "https://shop.example/checkout/complete?order=7"
CHECKOUT = "https://pay.example/api/v1/checkout/6f0e2c1e/form"

PAID = PaymentView(
    order_id="T1a2b3c",
    state=PaymentState.PAID,
    language="en",
    amount=Decimal("1234.5"),
    currency="UAH",
    return_url=SHOP,
    checkout_url=None,
)


def payment(state: PaymentState, **details: Any) -> PaymentView:
    """The payment above in another state, with other details."""
    return replace(PAID, state=state, **details)


views = st.builds(
    PaymentView,
    order_id=st.from_regex(r"[A-Za-z0-9]{1,32}", fullmatch=True),
    state=st.sampled_from(PaymentState),
    language=st.sampled_from(LANGUAGES),
    amount=st.decimals(min_value="0.01", max_value="9999999999.99", places=2),
    currency=st.sampled_from(["UAH", "EUR", "USD"]),
    return_url=st.sampled_from([None, SHOP, "javascript:alert(1)", "//elsewhere.example"]),
    message=st.none() | st.text(max_size=80),
    checkout_url=st.sampled_from([None, CHECKOUT]),
)
