"""What the pages in the Dashboard show and do, each part for one member of one store's staff.

A page at `/payments/7` fetches `/parts/payments/7`. Whatever changes something is a POST. Nothing here knows a cookie:
the token in the request's header says who asks, and only that store's payments exist for them.
"""

from decimal import Decimal

import structlog
from fastapi import APIRouter, Depends, Request
from fastapi.responses import HTMLResponse

from app.dashboard.first_steps import FIRST_STEPS, addressed_to
from app.dashboard.payment_list import Filter, read_list
from app.dashboard.payment_page import PaymentPage, read_page
from app.dashboard.refund_choice import NotAnAmount, read_amounts
from app.dashboard.rendering import render
from app.dashboard.staff import HANDLE_PAYMENTS, AnyStaff, Staff, guard, refused
from app.dashboard.translation import marked
from app.gateway.hosts import PRESETS
from app.ledger.sheets import load_by_order
from app.ledger.tables import MerchantAccount
from app.payments.ask import ask_now
from app.payments.desk import Desk
from app.payments.refusal import Refusal
from app.payments.split.choice import choose, leave_it_to_the_rules
from app.payments.split.rules import names_of
from app.saleor.dashboard_token import DashboardTokens

log = structlog.get_logger(__name__)

_NO_PAYMENT = marked("This store has no such payment.")
_NOT_ASKED = marked("The gateway could not be asked. Try again in a minute.")
_NOT_AN_AMOUNT = marked("Write amounts like 1234.50.")
_LOOKED_UP = marked("The gateway was asked: this is how it stands now.")
_CHOSEN = marked("The choice is kept for the next refund.")
_REMOVED = marked("The choice is removed: the next refund goes by the rules.")


class Parts:
    """The parts of all pages. ``base`` is the path below which browsers reach the app."""

    def __init__(self, desk: Desk, *, app_name: str, base: str = "") -> None:
        self._desk = desk
        self._app_name = app_name
        self._base = base

    def router(self, tokens: DashboardTokens) -> APIRouter:
        """Return the routes. The guard is the router's: no part can be added that forgets it."""
        router = APIRouter(
            prefix="/parts", include_in_schema=False, dependencies=[Depends(guard(tokens, HANDLE_PAYMENTS))]
        )
        router.add_api_route("/", self._home, methods=["GET"])
        router.add_api_route("/payments", self._payments, methods=["GET"])
        router.add_api_route("/payments/{order_id}", self._payment, methods=["GET"])
        router.add_api_route("/payments/{order_id}/look", self._look_up, methods=["POST"])
        router.add_api_route("/payments/{order_id}/next-refund", self._choose, methods=["POST"])
        router.add_api_route("/payments/{order_id}/next-refund/leave-to-rules", self._leave, methods=["POST"])
        return router

    async def _home(self, request: Request, staff: AnyStaff) -> HTMLResponse:
        routes = await self._desk.accounts.routes()
        if any(each.installation_id == staff.installation.id for each in routes):
            return await self._payments(request, staff)
        steps = addressed_to(staff.installation.saleor_api_url, FIRST_STEPS)
        return self._part("first_steps.html", staff, steps=steps, gateways=", ".join(PRESETS), app_name=self._app_name)

    async def _payments(self, request: Request, staff: AnyStaff) -> HTMLResponse:
        shown = await read_list(self._desk, staff.installation.id, Filter.of(request.query_params))
        return self._part("payments.html", staff, **vars(shown))

    async def _payment(self, order_id: str, staff: AnyStaff) -> HTMLResponse:
        return await self._shown(staff, order_id)

    async def _look_up(self, order_id: str, staff: AnyStaff) -> HTMLResponse:
        payment = (await self._page(staff, order_id)).payment
        try:
            error = await ask_now(self._desk, payment.order_id)
        except Refusal as refusal:
            raise refused(409, refusal.code, staff.translation, refusal.message) from refusal
        if error is not None:
            log.warning("look-up for staff failed", order_id=payment.order_id, error=str(error))
            raise refused(502, "GATEWAY", staff.translation, _NOT_ASKED)
        return await self._shown(staff, order_id, _LOOKED_UP)

    async def _choose(self, request: Request, order_id: str, staff: AnyStaff) -> HTMLResponse:
        async with request.form(max_files=0, max_fields=1000) as form:
            said = [(name, text) for name, text in form.multi_items() if isinstance(text, str)]
        try:
            amounts = read_amounts(said)
        except NotAnAmount as typed:
            raise refused(422, "INVALID_AMOUNT", staff.translation, _NOT_AN_AMOUNT) from typed
        await self._decide(staff, order_id, amounts)
        return await self._shown(staff, order_id, _CHOSEN)

    async def _leave(self, order_id: str, staff: AnyStaff) -> HTMLResponse:
        await self._decide(staff, order_id, None)
        return await self._shown(staff, order_id, _REMOVED)

    async def _decide(self, staff: Staff, order_id: str, amounts: dict[str, Decimal] | None) -> None:
        """Store from whom the next refund is taken; None: leave it to the rules."""
        desk = self._desk
        async with desk.database.transaction() as session:
            sheet = await load_by_order(session, order_id, installation_id=staff.installation.id)
            if sheet is None:
                raise refused(404, "UNKNOWN_PAYMENT", staff.translation, _NO_PAYMENT)
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

    async def _shown(self, staff: Staff, order_id: str, news: str | None = None) -> HTMLResponse:
        page = await self._page(staff, order_id)
        here = f"{self._base}/payments/{page.payment.order_id}"
        return self._part("payment.html", staff, here=here, news=news, **vars(page))

    async def _page(self, staff: Staff, order_id: str) -> PaymentPage:
        page = await read_page(self._desk, staff.installation.id, order_id)
        if page is None:
            raise refused(404, "UNKNOWN_PAYMENT", staff.translation, _NO_PAYMENT)
        return page

    def _part(self, template: str, staff: Staff, **values: object) -> HTMLResponse:
        html = render(template, staff.translation, base=self._base, **values)
        headers = {
            "Content-Language": staff.translation.language,
            "Cache-Control": "no-store",
            "X-Content-Type-Options": "nosniff",
        }
        return HTMLResponse(html, headers=headers)
