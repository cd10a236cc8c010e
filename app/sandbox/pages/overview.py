"""The first page: every payment with its operations and webhooks, and buttons to play bank, portal and postman."""

import contextlib
from collections import defaultdict
from dataclasses import dataclass
from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Depends, Form, Request
from fastapi.responses import RedirectResponse, Response

from app.sandbox.api.access import TheSandbox, base_url
from app.sandbox.book import attempts, secondary, shares
from app.sandbox.book.book import Book
from app.sandbox.book.codes import INSUFFICIENT_FUNDS, OK, Status
from app.sandbox.book.records import Operation, Payment
from app.sandbox.book.refusals import RefusalError, UnknownRecordError
from app.sandbox.control.access import only_from_here
from app.sandbox.deliveries import Delivery
from app.sandbox.pages.rendering import page
from app.sandbox.pages.words import money
from app.sandbox.render import checkout_url
from app.sandbox.sandbox import Sandbox
from app.sandbox.settings import PointOfSale

router = APIRouter(dependencies=[Depends(only_from_here)])

SHOWN = 100
"""How many payments the page shows, newest first."""

_SIGN = {
    "delivered": "success",
    "failed": "failure",
    "refused": "failure",
    "dropped": "failure",
    "waiting": "pending",
    "held": "init",
}


@dataclass(frozen=True)
class Row:
    """One payment as the page shows it."""

    payment: Payment
    amount: str
    operations: list[tuple[Operation, str]]
    deliveries: list[Delivery]
    links: list[tuple[str, str]]
    acts: list[tuple[str, str]]


@router.get("/")
async def overview(request: Request, sandbox: TheSandbox) -> Response:
    """What there is."""
    sandbox.catch_up()
    deliveries = defaultdict[UUID, list[Delivery]](list)
    for delivery in reversed(sandbox.deliveries):
        deliveries[delivery.payment_id].append(delivery)
    newest = list(sandbox.book.payments.values())[: -SHOWN - 1 : -1]
    return page(
        request,
        "overview.html",
        rows=[_row(sandbox, payment, deliveries[payment.payment_id]) for payment in newest],
        total=len(sandbox.book.payments),
        points_of_sale=sandbox.settings.points_of_sale,
        standard=PointOfSale(),
        scheme_word=sandbox.settings.scheme_word,
        address=base_url(request),
        now=sandbox.now(),
        moved=sandbox.book.clock_offset,
        rules=len(sandbox.rules.faults) + len(sandbox.rules.webhooks) + len(sandbox.book.scripts),
        sign=_SIGN,
    )


@router.post("/overview/payment")
async def act(sandbox: TheSandbox, payment_id: Annotated[UUID, Form()], act: Annotated[str, Form()]) -> Response:
    """One of the buttons of a payment."""
    sandbox.catch_up()
    payment = sandbox.book.payments.get(payment_id)
    if payment is None:
        raise UnknownRecordError("Payment not found")
    # The page may be older than the payment; shown anew, it offers what is possible now.
    with contextlib.suppress(RefusalError):
        _act(sandbox, payment, act)
    sandbox.settle_up()
    return RedirectResponse("/", 303)


@router.post("/overview/webhook")
async def send_again(sandbox: TheSandbox, delivery_id: Annotated[UUID, Form()]) -> Response:
    """Send a webhook once more; one that was held is sent at last."""
    for delivery in sandbox.deliveries:
        if delivery.delivery_id == delivery_id:
            if delivery.state == "held":
                sandbox.send(delivery)
            else:
                sandbox.repeat(delivery)
            sandbox.save()
            return RedirectResponse("/", 303)
    raise UnknownRecordError("Webhook not found")


def _act(sandbox: Sandbox, payment: Payment, name: str) -> None:
    book, now = sandbox.book, sandbox.now()
    rest = secondary.taken_amount(book, payment) - secondary.refunded_amount(book, payment)
    order = secondary.Order(server_url=payment.server_url)
    match name:
        case "accept" | "decline":
            code = OK if name == "accept" else INSUFFICIENT_FUNDS
            pending = [entry for entry in book.operations_of(payment) if not entry.final]
            if payment.final and pending:
                secondary.settle(book, pending[-1], code, now)
            else:
                attempts.settle(book, payment, code, now)
        case "capture":
            secondary.capture(book, payment, order, now)
        case "void":
            secondary.void(book, payment, order, now)
        case "refund":
            secondary.refund(book, payment, secondary.Order(amount=rest, server_url=payment.server_url), now)
        case "webhook" if payment.server_url is not None:
            sandbox.send(sandbox.write_webhook(payment, payment.server_url))


def _row(sandbox: Sandbox, payment: Payment, deliveries: list[Delivery]) -> Row:
    book = sandbox.book
    operations = book.operations_of(payment)
    return Row(
        payment=payment,
        amount=money(payment.paid_amount, payment.currency, "en"),
        operations=[(entry, money(entry.amount, entry.currency, "en")) for entry in reversed(operations)],
        deliveries=deliveries,
        links=_links(payment),
        acts=_acts(book, payment, operations),
    )


def _links(payment: Payment) -> list[tuple[str, str]]:
    if payment.status is Status.INIT and payment.mode == "hosted":
        return [("Payment page", checkout_url(payment, "form")), ("QR code", checkout_url(payment, "qr"))]
    if payment.waits_for_payer:
        return [("3-D Secure page", checkout_url(payment, "3ds"))]
    return []


def _acts(book: Book, payment: Payment, operations: list[Operation]) -> list[tuple[str, str]]:
    acts = []
    pending = payment.status is Status.PENDING or any(not entry.final for entry in operations)
    if pending:
        acts += [("accept", "Bank accepts"), ("decline", "Bank declines")]
    if book.is_free_hold(payment):
        acts += [("capture", "Capture"), ("void", "Void")]
    rest = secondary.taken_amount(book, payment) - secondary.refunded_amount(book, payment)
    if rest > 0 and not shares.received(book, payment):
        acts.append(("refund", "Refund"))
    if payment.server_url is not None:
        acts.append(("webhook", "Send webhook"))
    return acts
