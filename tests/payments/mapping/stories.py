"""Stories in few steps: actions of others, late reports, and actions refused before the gateway is called."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from integration_base_tests.loopback import HangUp, json_reply
from saleor_app_sdk.responses import ActionResponse
from tests.payments.fake_gateway import NO_SUCH_ORDER, operation, payment
from tests.payments.mapping.scenes import ConsequenceRecorder, Consequences, open_page
from tests.payments.shop import TOTAL, Shop

Story = Callable[[Shop], Awaitable[Consequences]]


def _portal_operation(method: str, amount: str, status: str = "success", named: str = "portal-1", **more: Any) -> Story:
    """Return a story in which somebody captures, voids or refunds in the portal, or the provider does it by itself."""

    async def story(shop: Shop) -> Consequences:
        await shop.complete_payment("CHARGE" if method == "refund" else "AUTHORIZATION")
        teller = ConsequenceRecorder(shop)
        before = await teller.before()
        await shop.notify(operation(method, shop.order_id, amount, status, operation_id=named, **more))
        await shop.work()
        return await teller.after(before, None)

    return story


async def _two_refunds(shop: Shop) -> Consequences:
    await shop.complete_payment()
    teller = ConsequenceRecorder(shop)
    before = await teller.before()
    for named in ("portal-1", "portal-2"):
        await shop.notify(operation("refund", shop.order_id, "100.00", operation_id=named))
    await shop.work()
    return await teller.after(before, None)


def _two_reports(first: Mapping[str, Any] | None, then: Mapping[str, Any], *, hours: float = 0) -> Story:
    """Return a story in which the gateway reports one state and then, perhaps after hours of silence, another one."""

    async def story(shop: Shop) -> Consequences:
        await open_page(shop, "CHARGE")
        if first is not None:
            await shop.notify(payment(shop.order_id, **first))
            await shop.work()
        if hours:
            shop.gateway.book.clear()
            shop.gateway.will_answer(NO_SUCH_ORDER)  # the app tries to close the page when its time is over
            await shop.pass_time(hours=hours)
        teller = ConsequenceRecorder(shop)
        before = await teller.before()
        await shop.notify(payment(shop.order_id, **then))
        await shop.work()
        return await teller.after(before, None)

    return story


def _late_discovery(what: str, method: str, amount: str, *, given_up: bool) -> Story:
    """Return a story in which the outcome of staff's request is unknown until the gateway shows that it was done."""

    async def story(shop: Shop) -> Consequences:
        await shop.complete_payment("CHARGE" if method == "refund" else "AUTHORIZATION")
        shop.gateway.will_answer(HangUp())
        await shop.request_action(what, amount)
        if given_up:
            await shop.pass_time(minutes=40)
        teller = ConsequenceRecorder(shop)
        before = await teller.before()
        await shop.notify(operation(method, shop.order_id, amount, operation_id="operation-1"))
        await shop.work()
        return await teller.after(before, None)

    return story


async def _paid_after_the_shopper_asked(shop: Shop) -> Consequences:
    """Report a payment as pending, so that it counts as covered; then the bank declines."""
    await open_page(shop, "CHARGE")
    shop.gateway.book[shop.order_id] = [payment(shop.order_id, "pending")]
    await shop.process_session()
    teller = ConsequenceRecorder(shop)
    before = await teller.before()
    await shop.notify(payment(shop.order_id, "failure"))
    await shop.work()
    return await teller.after(before, None)


OTHERS: dict[str, tuple[str, Story]] = {
    "capture all": ("the whole reservation is charged by others", _portal_operation("capture", TOTAL)),
    "capture part": ("300.00 of the reservation is charged by others", _portal_operation("capture", "300.00")),
    "capture more": (
        "600.00 is charged on the reservation by others, which it does not hold",
        _portal_operation("capture", "600.00"),
    ),
    "capture pending": (
        "others charge the reservation; the bank is at it",
        _portal_operation("capture", TOTAL, "pending"),
    ),
    "capture failed": ("others try to charge the reservation in vain", _portal_operation("capture", TOTAL, "failure")),
    "void": ("the reservation is released by others, or by the provider", _portal_operation("void", TOTAL)),
    "refund all": ("the whole payment is refunded by others", _portal_operation("refund", TOTAL)),
    "refund part": ("100.00 is refunded by others", _portal_operation("refund", "100.00")),
    "refund twice": ("100.00 is refunded by others, twice", _two_refunds),
    "refund pending": ("others refund 100.00; the bank is at it", _portal_operation("refund", "100.00", "pending")),
    "refund in dollars": (
        "others refund 100.00 in another currency",
        _portal_operation("refund", "100.00", currency="USD"),
    ),
}
_SUCCESS, _FAILURE, _PENDING = {"status": "success"}, {"status": "failure"}, {"status": "pending"}
LATE: dict[str, tuple[str, Story]] = {
    "paid too late": (
        "paid, after the app had given the payment up for silence",
        _two_reports(None, _SUCCESS, hours=6),
    ),
    "failed too late": ("failed, after the app had given it up", _two_reports(None, _FAILURE, hours=6)),
    "bank declines": ("failure, after it was answered as pending", _paid_after_the_shopper_asked),
    "older word": ("pending, after it had succeeded", _two_reports(_SUCCESS, _PENDING)),
    "repeated": ("success, again", _two_reports(_SUCCESS, _SUCCESS)),
    "undone": ("failure, after the gateway had said success", _two_reports(_SUCCESS, _FAILURE)),
    "revived": ("success, after the gateway had said failure", _two_reports(_FAILURE, _SUCCESS)),
    "capture found": (
        "the charge of which nobody knew was made",
        _late_discovery("CHARGE", "capture", "300.00", given_up=False),
    ),
    "capture found late": (
        "the same, after it was given up",
        _late_discovery("CHARGE", "capture", "300.00", given_up=True),
    ),
    "refund found": (
        "the refund of which nobody knew was made",
        _late_discovery("REFUND", "refund", "100.00", given_up=False),
    ),
    "refund found late": (
        "the same, after it was given up",
        _late_discovery("REFUND", "refund", "100.00", given_up=True),
    ),
    "void found": (
        "the release of which nobody knew was made",
        _late_discovery("CANCEL", "void", TOTAL, given_up=False),
    ),
    "void found late": ("the same, after it was given up", _late_discovery("CANCEL", "void", TOTAL, given_up=True)),
}


def _rejected_action(action: str, amount: str, *steps: Callable[[Shop], Awaitable[Any]]) -> Story:
    """Return a story in which staff request what the payment's state does not allow."""

    async def story(shop: Shop) -> Consequences:
        for step in steps:
            await step(shop)
        teller = ConsequenceRecorder(shop, with_message=True)
        before = await teller.before()
        answer = await shop.request_action(action, amount, "the question")
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
    await shop.complete_payment()


async def _reserved(shop: Shop) -> None:
    await shop.complete_payment("AUTHORIZATION")


def _staff(
    action: str, method: str, amount: str, status: str = "success"
) -> Callable[[Shop], Awaitable[ActionResponse]]:
    async def step(shop: Shop) -> ActionResponse:
        record = operation(method, shop.order_id, amount, status)
        shop.gateway.book[shop.order_id].append(record)
        shop.gateway.will_answer(json_reply(record))
        return await shop.request_action(action, amount, f"{action} {amount} {status}")

    return step


_taken = _staff("CHARGE", "capture", "300.00")
_being_taken = _staff("CHARGE", "capture", "300.00", "pending")
_released = _staff("CANCEL", "void", TOTAL)
_returned = _staff("REFUND", "refund", "100.00")
_being_returned = _staff("REFUND", "refund", "200.00", "pending")
IMPOSSIBLE: dict[str, tuple[str, Story]] = {
    "refund of an open page": ("refund; the shopper has not paid", _rejected_action("REFUND", "1.00", _page)),
    "refund at the bank": ("refund; the payment is at the bank", _rejected_action("REFUND", "1.00", _at_the_bank)),
    "refund of a failure": ("refund; the payment failed", _rejected_action("REFUND", "1.00", _declined)),
    "refund of a reservation": ("refund; the amount is only reserved", _rejected_action("REFUND", "1.00", _reserved)),
    "refund of a release": (
        "refund; the reservation was released",
        _rejected_action("REFUND", "1.00", _reserved, _released),
    ),
    "refund of too much": ("refund; more than was paid", _rejected_action("REFUND", "569.51", _paid)),
    "refund of more than is left": (
        "refund; more than is left, with 100.00 refunded and 200.00 on its way",
        _rejected_action("REFUND", "269.51", _paid, _returned, _being_returned),
    ),
    "refund of nothing": (
        "refund over 0.00; Saleor believes that nothing is left",
        _rejected_action("REFUND", "0.00", _paid),
    ),
    "charge of too much": ("charge; more than is reserved", _rejected_action("CHARGE", "569.51", _reserved)),
    "second charge": ("charge; a part was charged before", _rejected_action("CHARGE", "1.00", _reserved, _taken)),
    "second charge of nothing": ("the same over 0.00", _rejected_action("CHARGE", "0.00", _reserved, _taken)),
    "charge while charging": (
        "charge; a charge is on its way",
        _rejected_action("CHARGE", "1.00", _reserved, _being_taken),
    ),
    "charge of a release": (
        "charge; the reservation was released",
        _rejected_action("CHARGE", "1.00", _reserved, _released),
    ),
    "charge of a payment": ("charge; the payment was taken at once", _rejected_action("CHARGE", "1.00", _paid)),
    "cancel of a payment": ("cancel; the payment was taken", _rejected_action("CANCEL", "0.00", _paid)),
    "cancel of a charge": (
        "cancel; the reservation was charged",
        _rejected_action("CANCEL", "0.00", _reserved, _taken),
    ),
    "cancel while charging": (
        "cancel; a charge is on its way",
        _rejected_action("CANCEL", "0.00", _reserved, _being_taken),
    ),
    "cancel of a release": (
        "cancel; the reservation was released",
        _rejected_action("CANCEL", "0.00", _reserved, _released),
    ),
    "cancel at the bank": ("cancel; the payment is at the bank", _rejected_action("CANCEL", "0.00", _at_the_bank)),
    "cancel of a failure": ("cancel; the payment failed", _rejected_action("CANCEL", "0.00", _declined)),
    "three decimals": ("refund over 1.001", _rejected_action("REFUND", "1.001", _paid)),
}
