"""A shop that is a marketplace: three mugs of the potter, a lamp of the smith, and shipping for the market."""

from decimal import Decimal
from itertools import count
from typing import Any

from app.core.vocabulary import Kind
from app.rules.split.standing import SplitStanding, standing_of
from integration_base_tests.loopback import json_reply
from tests.payments.fake_gateway import operation
from tests.payments.shop import Shop, source_object
from tests.payments.split.people import MARKET, POTTER, SMITH, rules

SHARES = {MARKET: Decimal("70.00"), POTTER: Decimal("300.00"), SMITH: Decimal("199.50")}


_NUMBERS = count(1)


def taxed(amount: str) -> dict[str, Any]:
    """Return a price of the events."""
    return {"gross": {"amount": Decimal(amount), "currency": "UAH"}}


def variant(who: str | None) -> dict[str, Any]:
    """Return a variant whose product is sold by somebody."""
    metadata = [{"key": "sub_merchant_id", "value": who}] if who else []
    return {"id": f"variant-of-{who}", "name": "", "product": {"name": "Thing", "metadata": metadata}}


def line(name: str, amount: str, who: str | None, quantity: int = 1) -> dict[str, Any]:
    """Return a line of a checkout or an order."""
    price = {"totalPrice": taxed(amount), "variant": variant(who)}
    return {"id": f"line-of-{name}", "quantity": quantity, "productName": name, **price}


MUGS, LAMP = line("Mugs", "300.00", POTTER, 3), line("Lamp", "199.50", SMITH)


def split_checkout(*lines: dict[str, Any]) -> dict[str, Any]:
    """Return the checkout."""
    return source_object(totalPrice=taxed("569.50"), shippingPrice=taxed("70.00"), lines=list(lines or (MUGS, LAMP)))


def granted_refund_event(*lines: tuple[dict[str, Any], int], shipping: bool = False) -> dict[str, Any]:
    """Return what an event has that asks for a granted refund of pieces of lines; another one each time."""
    order = {"id": "T3JkZXI6MQ==", "number": "7", "channel": {"slug": "uah"}, "shippingPrice": taxed("70.00")}
    refund = {
        "id": f"grant-{next(_NUMBERS)}",
        "shippingCostsIncluded": shipping,
        "lines": [{"id": f"r{at}", "quantity": much, "orderLine": one} for at, (one, much) in enumerate(lines)],
    }
    return {"grantedRefund": refund, "order": order}


async def enable_splitting(shop: Shop, **different: Any) -> Shop:
    """Let the shop's account split payments."""
    kept = rules(**different).model_dump(mode="json")
    shop.account = await shop.services.accounts.change(shop.account.id, split_rules=kept)
    return shop


async def refund(
    shop: Shop, amount: str, key: str, *, granted: dict[str, Any] | None = None, named: str | None = None
) -> list[dict[str, Any]]:
    """Staff refund something; return the shares that the gateway was told."""
    shop.gateway.will_answer(json_reply(operation("refund", shop.order_id, amount, operation_id=named or key)))
    answer = await shop.request_action(
        "REFUND", amount, key, **(granted_action_event(shop, key, granted) if granted else {})
    )
    assert answer.result == "REFUND_SUCCESS", answer.message
    heard = shop.gateway.requests[-1]
    assert heard.path == "/api/v1/split/refund"
    assert heard.json["refund_amount"] == Decimal(amount)
    return list(heard.json["split"])


def granted_action_event(shop: Shop, key: str, granted: dict[str, Any]) -> dict[str, Any]:
    """Return the members of the event by which staff ask for a granted refund."""
    event = {"id": key, "type": "REFUND_REQUEST", "pspReference": "", "idempotencyKey": key}
    transaction = {"id": shop.transaction.id, "events": [event], "order": granted["order"]}
    return {"transaction": transaction, "grantedRefund": granted["grantedRefund"]}


def shares(said: list[dict[str, Any]]) -> dict[str, Decimal]:
    """Return shares as the gateway was told them."""
    return {share["sub_merchant_id"]: share["amount"] for share in said}


async def standing(shop: Shop) -> SplitStanding:
    """Return how the payment stands."""
    return standing_of(await shop.aggregate())


async def recorded(shop: Shop, kind: Kind, number: int = 0) -> dict[str, Decimal]:
    """Return the rows of an operation's shares."""
    aggregate = await shop.aggregate()
    return [operation for operation in aggregate.operations if operation.kind is kind][number].shares
