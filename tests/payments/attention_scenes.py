"""What goes wrong in a shop, so that a person must look."""

from decimal import Decimal
from typing import Any

from app.ledger.tables import Kind, State
from app.payments.attention.items import Item, What, open_items
from app.payments.change.decide import Decision, settle
from app.saleor.errors import SaleorRefused, SaleorUnreachable
from tests.payments.shop import TOTAL, Shop, signed
from tests.payments.till import payment, refused


async def items(shop: Shop) -> list[Item]:
    """Return what needs a person in the shop's store."""
    installation = await shop.desk.installations.get(shop.installation.id)
    return await open_items(shop.desk, installation)


async def whats(shop: Shop) -> list[tuple[What, int]]:
    """Return what needs a person, and how much of it."""
    return [(each.what, each.count) for each in await items(shop)]


async def another_amount_is_paid(shop: Shop) -> None:
    """The gateway reports another amount than was asked."""
    shop.till.will(shop.till.page())
    await shop.begin()
    await shop.notify(payment(shop.order_id, amount="569.49"))
    await shop.work()


async def somebody_settles_it(shop: Shop, amount: str) -> None:
    """Somebody has looked into the merchant portal, and says how much was paid."""
    decision = Decision(State.SUCCESS, "Ann", "the portal shows it", Decimal(amount))
    await settle(shop.desk, shop.order_id, (await shop.operation(Kind.CREATE)).id, decision)


async def saleor_refuses(shop: Shop) -> None:
    """Somebody has paid, and Saleor does not want to know."""
    shop.till.will(shop.till.page())
    await shop.begin()
    await shop.work()
    await shop.notify(payment(shop.order_id))
    shop.books.troubles.append(SaleorRefused("INVALID", "amount", "no"))
    await shop.work()


async def saleor_is_away(shop: Shop) -> None:
    """Somebody has paid, and Saleor cannot be told."""
    shop.till.will(shop.till.page())
    await shop.begin()
    await shop.work()
    shop.books.troubles.extend([SaleorUnreachable("nobody answers")] * 1000)
    await shop.notify(payment(shop.order_id))
    await shop.work()


async def keys_are_refused(shop: Shop) -> None:
    """The account's keys have been replaced in the merchant portal."""
    shop.till.will(refused("Invalid credentials", "S-404", 401))
    await shop.begin()
    await shop.work()


async def notified_of(shop: Shop, **record: Any) -> None:
    """The gateway notifies of an order that nobody here has made."""
    await shop.notify(payment("f" * 32, TOTAL) | record)
    await shop.work()


def nonsense() -> bytes:
    """Return what the gateway has signed and nobody understands."""
    return signed({"hello": "world"})
