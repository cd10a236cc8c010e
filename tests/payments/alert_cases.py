"""What goes wrong in a shop, so that a person must look."""

from decimal import Decimal
from typing import Any

from app.core.alerts import AlertKind
from app.core.vocabulary import Kind, State
from app.flows.staff.manual_resolution import Decision, settle
from app.reports.alerts.open_alerts import Alert, find_open_alerts
from saleor_app_sdk.errors import SaleorRefusedError, SaleorUnreachableError
from tests.payments.fake_gateway import payment, refusal_reply
from tests.payments.shop import TOTAL, Shop, signed_notification


async def items(shop: Shop) -> list[Alert]:
    """Return what needs a person in the shop's store."""
    installation = await shop.services.installations.get(shop.installation.id)
    return await find_open_alerts(shop.services, installation)


async def subjects(shop: Shop) -> list[tuple[AlertKind, int]]:
    """Return what needs a person, and how much of it."""
    return [(item.what, item.count) for item in await items(shop)]


async def another_amount_is_paid(shop: Shop) -> None:
    """The gateway reports another amount than was asked."""
    shop.gateway.will_answer(shop.gateway.page())
    await shop.begin()
    await shop.notify(payment(shop.order_id, amount="569.49"))
    await shop.work()


async def settle_amount(shop: Shop, amount: str) -> None:
    """Somebody has looked into the merchant portal, and says how much was paid."""
    decision = Decision(State.SUCCESS, "Ann", "the portal shows it", Decimal(amount))
    await settle(shop.services, shop.order_id, (await shop.operation(Kind.CREATE)).id, decision)


async def saleor_refuses(shop: Shop) -> None:
    """Somebody has paid, and Saleor does not want to know."""
    shop.gateway.will_answer(shop.gateway.page())
    await shop.begin()
    await shop.work()
    await shop.notify(payment(shop.order_id))
    shop.saleor.failures.append(SaleorRefusedError("INVALID", "amount", "no"))
    await shop.work()


async def saleor_is_away(shop: Shop) -> None:
    """Somebody has paid, and Saleor cannot be told."""
    shop.gateway.will_answer(shop.gateway.page())
    await shop.begin()
    await shop.work()
    shop.saleor.failures.extend([SaleorUnreachableError("nobody answers")] * 1000)
    await shop.notify(payment(shop.order_id))
    await shop.work()


async def keys_are_refused(shop: Shop) -> None:
    """The account's keys have been replaced in the merchant portal."""
    shop.gateway.will_answer(refusal_reply("Invalid credentials", "S-404", 401))
    await shop.begin()
    await shop.work()


async def notified_of(shop: Shop, **record: Any) -> None:
    """The gateway notifies of an order that nobody here has made."""
    await shop.notify(payment("f" * 32, TOTAL) | record)
    await shop.work()


def unreadable_record() -> bytes:
    """Return what the gateway has signed and nobody understands."""
    return signed_notification({"hello": "world"})
