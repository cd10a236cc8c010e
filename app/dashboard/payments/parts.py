"""The parts about one payment: its page, and what staff do there for one store.

A page at `/payments/7` fetches `/parts/payments/7`. Whatever changes something is a POST.
"""

from collections.abc import Awaitable, Callable
from decimal import Decimal

import structlog
from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse

from app.dashboard.form import fields_of
from app.dashboard.paper import Paper
from app.dashboard.payments.actions import KINDS, News, NotOurForm, news_of, read_wish
from app.dashboard.payments.again import AgainParts
from app.dashboard.payments.amounts import NotAnAmount, read_amounts
from app.dashboard.payments.shown import NO_PAYMENT, Shown
from app.dashboard.staff import AnyStaff, Staff, refused
from app.dashboard.translation import marked
from app.ledger.sheets import load_by_order
from app.ledger.tables import Kind, MerchantAccount
from app.payments.change.by_staff import ask_for
from app.payments.desk import Desk
from app.payments.refusal import Refusal
from app.payments.split.choice import choose, leave_it_to_the_rules
from app.payments.split.rules import names_of

log = structlog.get_logger(__name__)

_NOT_AN_AMOUNT = marked("Write amounts like 1234.50.")
_NOT_OUR_FORM = marked("Reload the page: this form cannot be sent.")
_CHOSEN = marked("The choice is kept for the next refund.")
_REMOVED = marked("The choice is removed: the next refund goes by the rules.")


class PaymentParts:
    """The parts about one payment, written on ``paper``."""

    def __init__(self, desk: Desk, paper: Paper) -> None:
        self._desk = desk
        self._paper = paper
        self._shown = Shown(desk, paper)

    def add_to(self, router: APIRouter) -> None:
        """Add the routes to a router, whose guard lets in only whoever may handle payments."""
        router.add_api_route("/payments/{order_id}", self._payment, methods=["GET"])
        AgainParts(self._desk, self._paper, self._shown).add_to(router)
        for kind in KINDS:
            router.add_api_route(f"/payments/{{order_id}}/{kind.value}", self._acting(kind), methods=["POST"])
        router.add_api_route("/payments/{order_id}/next-refund", self._choose, methods=["POST"])
        router.add_api_route("/payments/{order_id}/next-refund/leave-to-rules", self._leave, methods=["POST"])

    async def _payment(self, order_id: str, staff: AnyStaff) -> HTMLResponse:
        return await self._shown.part(staff, order_id)

    def _acting(self, kind: Kind) -> Callable[..., Awaitable[HTMLResponse]]:
        async def act(request: Request, order_id: str, staff: AnyStaff) -> HTMLResponse:
            payment = (await self._shown.page(staff, order_id)).payment
            try:
                wish = read_wish(kind, staff.id, await fields_of(request))
            except NotAnAmount as typed:
                raise refused(422, "INVALID_AMOUNT", staff.translation, _NOT_AN_AMOUNT) from typed
            except NotOurForm as strange:
                raise refused(422, "INVALID_DATA", staff.translation, _NOT_OUR_FORM) from strange
            log.info("staff act", order_id=payment.order_id, kind=kind.value, staff=staff.id)
            try:
                _, operation = await ask_for(self._desk, payment.order_id, wish, installation_id=staff.installation.id)
            except Refusal as refusal:
                raise refused(422, refusal.code, staff.translation, refusal.message) from refusal
            return await self._shown.part(staff, order_id, news_of(operation))

        return act

    async def _choose(self, request: Request, order_id: str, staff: AnyStaff) -> HTMLResponse:
        try:
            amounts = read_amounts(await fields_of(request))
        except NotAnAmount as typed:
            raise refused(422, "INVALID_AMOUNT", staff.translation, _NOT_AN_AMOUNT) from typed
        await self._decide(staff, order_id, amounts)
        return await self._shown.part(staff, order_id, News(_CHOSEN))

    async def _leave(self, order_id: str, staff: AnyStaff) -> HTMLResponse:
        await self._decide(staff, order_id, None)
        return await self._shown.part(staff, order_id, News(_REMOVED))

    async def _decide(self, staff: Staff, order_id: str, amounts: dict[str, Decimal] | None) -> None:
        """Store from whom the next refund is taken; None: leave it to the rules."""
        desk = self._desk
        async with desk.database.transaction() as session:
            sheet = await load_by_order(session, order_id, installation_id=staff.installation.id)
            if sheet is None:
                raise refused(404, "UNKNOWN_PAYMENT", staff.translation, NO_PAYMENT)
            account = await session.get_one(MerchantAccount, sheet.payment.account_id)
            try:
                if amounts is None:
                    leave_it_to_the_rules(sheet, desk.now())
                else:
                    choose(sheet, amounts, desk.now(), names_of(account.split_rules))
            except Refusal as refusal:
                raise refused(422, refusal.code, staff.translation, refusal.message) from refusal
        what = "next refund chosen" if amounts is not None else "next refund left to the rules"
        log.info(what, order_id=sheet.payment.order_id, staff=staff.id)
