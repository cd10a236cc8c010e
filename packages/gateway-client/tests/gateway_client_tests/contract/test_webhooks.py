"""Webhooks and their signature (gateway interface, Events)."""

from decimal import Decimal
from urllib.parse import parse_qsl, urlencode

import pytest

from gateway_client.errors import ForgedNotificationError
from gateway_client.models import Checkout, Method, Refund, Status
from gateway_client.notification import read_notification
from gateway_client_tests.contract.harness import Harness
from gateway_client_tests.contract.requests import AMOUNT, a_page

pytestmark = pytest.mark.webhooks


async def test_signed_webhooks_tell_of_a_payment_and_of_a_refund(harness: Harness) -> None:
    order_id, secrets = harness.order_id("told"), harness.credentials.webhook_secrets
    checkout = await harness.client.create_hosted(a_page(harness, "told"), timeout=harness.timeout)
    assert isinstance(checkout, Checkout)
    await harness.hands.pay(order_id, checkout.checkout_url)
    forms = await harness.webhooks.take(2)
    refund = Refund(
        order_id=order_id,
        order_currency=harness.currency,
        refund_amount=Decimal("0.50"),
        server_url=harness.webhooks.url,
    )
    await harness.client.refund(refund, timeout=harness.timeout)
    forms += await harness.webhooks.take(1)

    told = [read_notification(form, secrets).record for form in forms]
    assert {record.order_id for record in told} == {order_id}
    assert [(record.method, record.amount) for record in told] == [
        (Method.PURCHASE, AMOUNT),
        (Method.PURCHASE, AMOUNT),
        (Method.REFUND, Decimal("0.50")),
    ]
    assert told[-1].status is Status.SUCCESS
    for form in forms:
        fields = dict(parse_qsl(form.decode()))
        assert len(fields["signature"]) == 28
        with pytest.raises(ForgedNotificationError):
            read_notification(form, ["another secret"])
        with pytest.raises(ForgedNotificationError):
            read_notification(urlencode(fields | {"data": fields["data"][:-8] + "AAAA" + "AAAA"}).encode(), secrets)
