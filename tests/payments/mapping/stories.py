"""Stories in few steps: what others do to a payment, what comes late, what is refused before the gateway is asked."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from app.saleor.answers import ActionAnswer
from tests.loopback import HangUp, said
from tests.payments.fake_gateway import NO_SUCH_ORDER, operation, payment
from tests.payments.mapping.stage import Consequences, Teller, open_page
from tests.payments.shop import TOTAL, Shop

Story = Callable[[Shop], Awaitable[Consequences]]


def _done(method: str, amount: str, status: str = "success", named: str = "portal-1", **more: Any) -> Story:
    """Somebody captures, voids or refunds in the merchant portal, or the provider does it by itself."""

    async def story(shop: Shop) -> Consequences:
        await shop.paid("CHARGE" if method == "refund" else "AUTHORIZATION")
        teller = Teller(shop)
        before = await teller.before()
        await shop.notify(operation(method, shop.order_id, amount, status, named=named, **more))
        await shop.work()
        return await teller.after(before, None)

    return story


async def _two_refunds(shop: Shop) -> Consequences:
    await shop.paid()
    teller = Teller(shop)
    before = await teller.before()
    for named in ("portal-1", "portal-2"):
        await shop.notify(operation("refund", shop.order_id, "100.00", named=named))
    await shop.work()
    return await teller.after(before, None)


def _late(first: Mapping[str, Any] | None, then: Mapping[str, Any], *, hours: float = 0) -> Story:
    """The gateway says something of a payment, then, perhaps after hours of silence, something else."""

    async def story(shop: Shop) -> Consequences:
        await open_page(shop, "CHARGE")
        if first is not None:
            await shop.notify(payment(shop.order_id, **first))
            await shop.work()
        if hours:
            shop.gateway.book.clear()
            shop.gateway.will(NO_SUCH_ORDER)  # the app tries to close the page when its time is over
            await shop.later(hours=hours)
        teller = Teller(shop)
        before = await teller.before()
        await shop.notify(payment(shop.order_id, **then))
        await shop.work()
        return await teller.after(before, None)

    return story


def _found(what: str, method: str, amount: str, *, given_up: bool) -> Story:
    """Nobody knew what became of what staff asked; then the gateway shows that it was done."""

    async def story(shop: Shop) -> Consequences:
        await shop.paid("CHARGE" if method == "refund" else "AUTHORIZATION")
        shop.gateway.will(HangUp())
        await shop.staff(what, amount)
        if given_up:
            await shop.later(minutes=40)
        teller = Teller(shop)
        before = await teller.before()
        await shop.notify(operation(method, shop.order_id, amount, named="operation-1"))
        await shop.work()
        return await teller.after(before, None)

    return story


async def _paid_after_the_shopper_asked(shop: Shop) -> Consequences:
    """Answered as pending, so it counts as covered; then the bank declines."""
    await open_page(shop, "CHARGE")
    shop.gateway.book[shop.order_id] = [payment(shop.order_id, "pending")]
    await shop.come_back()
    teller = Teller(shop)
    before = await teller.before()
    await shop.notify(payment(shop.order_id, "failure"))
    await shop.work()
    return await teller.after(before, None)


OTHERS: dict[str, tuple[str, Story]] = {
    "capture all": ("the whole reservation is charged by others", _done("capture", TOTAL)),
    "capture part": ("300.00 of the reservation is charged by others", _done("capture", "300.00")),
    "capture more": ("600.00 is charged on the reservation, as some contracts allow", _done("capture", "600.00")),
    "capture pending": ("others charge the reservation; the bank is at it", _done("capture", TOTAL, "pending")),
    "capture failed": ("others try to charge the reservation in vain", _done("capture", TOTAL, "failure")),
    "void": ("the reservation is released by others, or by the provider", _done("void", TOTAL)),
    "refund all": ("the whole payment is refunded by others", _done("refund", TOTAL)),
    "refund part": ("100.00 is refunded by others", _done("refund", "100.00")),
    "refund twice": ("100.00 is refunded by others, twice", _two_refunds),
    "refund pending": ("others refund 100.00; the bank is at it", _done("refund", "100.00", "pending")),
    "refund in dollars": ("others refund 100.00 in another currency", _done("refund", "100.00", currency="USD")),
}
_SUCCESS, _FAILURE, _PENDING = {"status": "success"}, {"status": "failure"}, {"status": "pending"}
LATE: dict[str, tuple[str, Story]] = {
    "paid too late": ("paid, after the app had given the payment up for silence", _late(None, _SUCCESS, hours=6)),
    "failed too late": ("failed, after the app had given it up", _late(None, _FAILURE, hours=6)),
    "bank declines": ("failure, after it was answered as pending", _paid_after_the_shopper_asked),
    "older word": ("pending, after it had succeeded", _late(_SUCCESS, _PENDING)),
    "repeated": ("success, again", _late(_SUCCESS, _SUCCESS)),
    "undone": ("failure, after the gateway had said success", _late(_SUCCESS, _FAILURE)),
    "revived": ("success, after the gateway had said failure", _late(_FAILURE, _SUCCESS)),
    "capture found": (
        "the charge of which nobody knew was made",
        _found("CHARGE", "capture", "300.00", given_up=False),
    ),
    "capture found late": ("the same, after it was given up", _found("CHARGE", "capture", "300.00", given_up=True)),
    "refund found": ("the refund of which nobody knew was made", _found("REFUND", "refund", "100.00", given_up=False)),
    "refund found late": ("the same, after it was given up", _found("REFUND", "refund", "100.00", given_up=True)),
    "void found": ("the release of which nobody knew was made", _found("CANCEL", "void", TOTAL, given_up=False)),
    "void found late": ("the same, after it was given up", _found("CANCEL", "void", TOTAL, given_up=True)),
}


def _refused(action: str, amount: str, *steps: Callable[[Shop], Awaitable[Any]]) -> Story:
    """Staff ask for what cannot be done as the payment stands."""

    async def story(shop: Shop) -> Consequences:
        for step in steps:
            await step(shop)
        teller = Teller(shop, with_message=True)
        before = await teller.before()
        answer = await shop.staff(action, amount, "the question")
        return await teller.after(before, answer)

    return story


async def _page(shop: Shop) -> None:
    await open_page(shop, "CHARGE")


async def _at_the_bank(shop: Shop) -> None:
    await _page(shop)
    await shop.notify(payment(shop.order_id, "pending"))
    await shop.work()


async def _declined(shop: Shop) -> None:
    await _page(shop)
    await shop.notify(payment(shop.order_id, "failure"))
    await shop.work()


async def _paid(shop: Shop) -> None:
    await shop.paid()


async def _reserved(shop: Shop) -> None:
    await shop.paid("AUTHORIZATION")


def _staff(action: str, method: str, amount: str, status: str = "success") -> Callable[[Shop], Awaitable[ActionAnswer]]:
    async def step(shop: Shop) -> ActionAnswer:
        record = operation(method, shop.order_id, amount, status)
        shop.gateway.book[shop.order_id].append(record)
        shop.gateway.will(said(record))
        return await shop.staff(action, amount, f"{action} {amount} {status}")

    return step


_taken = _staff("CHARGE", "capture", "300.00")
_being_taken = _staff("CHARGE", "capture", "300.00", "pending")
_released = _staff("CANCEL", "void", TOTAL)
_returned = _staff("REFUND", "refund", "100.00")
_being_returned = _staff("REFUND", "refund", "200.00", "pending")
IMPOSSIBLE: dict[str, tuple[str, Story]] = {
    "refund of an open page": ("refund; the shopper has not paid", _refused("REFUND", "1.00", _page)),
    "refund at the bank": ("refund; the payment is at the bank", _refused("REFUND", "1.00", _at_the_bank)),
    "refund of a failure": ("refund; the payment failed", _refused("REFUND", "1.00", _declined)),
    "refund of a reservation": ("refund; the amount is only reserved", _refused("REFUND", "1.00", _reserved)),
    "refund of a release": ("refund; the reservation was released", _refused("REFUND", "1.00", _reserved, _released)),
    "refund of too much": ("refund; more than was paid", _refused("REFUND", "569.51", _paid)),
    "refund of more than is left": (
        "refund; more than is left, with 100.00 refunded and 200.00 on its way",
        _refused("REFUND", "269.51", _paid, _returned, _being_returned),
    ),
    "refund of nothing": ("refund over 0.00; Saleor believes that nothing is left", _refused("REFUND", "0.00", _paid)),
    "charge of too much": ("charge; more than is reserved", _refused("CHARGE", "569.51", _reserved)),
    "second charge": ("charge; a part was charged before", _refused("CHARGE", "1.00", _reserved, _taken)),
    "second charge of nothing": ("the same over 0.00", _refused("CHARGE", "0.00", _reserved, _taken)),
    "charge while charging": (
        "charge; a charge is on its way",
        _refused("CHARGE", "1.00", _reserved, _being_taken),
    ),
    "charge of a release": ("charge; the reservation was released", _refused("CHARGE", "1.00", _reserved, _released)),
    "charge of a payment": ("charge; the payment was taken at once", _refused("CHARGE", "1.00", _paid)),
    "cancel of a payment": ("cancel; the payment was taken", _refused("CANCEL", "0.00", _paid)),
    "cancel of a charge": ("cancel; the reservation was charged", _refused("CANCEL", "0.00", _reserved, _taken)),
    "cancel while charging": ("cancel; a charge is on its way", _refused("CANCEL", "0.00", _reserved, _being_taken)),
    "cancel of a release": ("cancel; the reservation was released", _refused("CANCEL", "0.00", _reserved, _released)),
    "cancel at the bank": ("cancel; the payment is at the bank", _refused("CANCEL", "0.00", _at_the_bank)),
    "cancel of a failure": ("cancel; the payment failed", _refused("CANCEL", "0.00", _declined)),
    "three decimals": ("refund over 1.001", _refused("REFUND", "1.001", _paid)),
}
