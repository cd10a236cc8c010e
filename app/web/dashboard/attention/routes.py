"""The routes of what needs a person. Nothing here moves money: staff acknowledge, look up, or resend events."""

from collections.abc import Awaitable, Callable

import structlog
from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse

from app.core.alerts import AlertKind
from app.flows.on_demand import look_up_now
from app.flows.staff.manual_resolution import (
    acknowledge_notifications,
    acknowledge_problems,
    acknowledge_turned_away,
    acknowledge_unknown_orders,
    resend_refused_events,
    send_undelivered_events,
)
from app.i18n.messages import gettext_noop
from app.rules.problems import needs_decision, open_problems
from app.rules.refusal import RefusalError
from app.services import Services
from app.store.aggregates import find_by_order
from app.web.dashboard.attention.page import AttentionQuery, read_sections, read_store_books_comparison
from app.web.dashboard.renderer import ATTENTION, Renderer
from app.web.dashboard.staff import AnyStaff, Staff, http_error

log = structlog.get_logger(__name__)

ACKNOWLEDGEABLE = (AlertKind.UNREADABLE, AlertKind.UNMATCHED, AlertKind.UNKNOWN_ORDERS, AlertKind.TURNED_AWAY)
"""The kinds that disappear once acknowledged. The others return as long as their cause exists."""

_EVERYTHING = AttentionQuery()
_NO_PAYMENT = gettext_noop("This store has no such payment.")
_GATEWAY_UNREACHABLE = gettext_noop("The request to the gateway failed. Try again in a minute.")
_LOOKED_UP = gettext_noop("The payment was looked up at the gateway, and the result is recorded.")
_ACKNOWLEDGED = gettext_noop("Marked as reviewed.")
_NOTHING_ACKNOWLEDGED = gettext_noop("Nothing was marked: this disappears by itself when its cause is resolved.")
_STILL_OPEN = gettext_noop(
    "This stays here because its outcome is still open. If the merchant portal shows the outcome, tell it to the app "
    "operator, with the gateway order ID."
)
_RESENT = gettext_noop("Sending to Saleor again. What Saleor accepts disappears from here in a moment.")
_NOTHING_TO_RESEND = gettext_noop("There is nothing to send to Saleor again.")


class AttentionParts:
    """The routes of what needs a person."""

    def __init__(self, services: Services, renderer: Renderer) -> None:
        self._services = services
        self._renderer = renderer

    def add_to(self, router: APIRouter) -> None:
        """Add the routes to a router whose guard requires the permission to handle payments."""
        router.add_api_route("/attention", self._page, methods=["GET"])
        router.add_api_route("/attention/tell-refused", self._resend_refused, methods=["POST"])
        router.add_api_route("/attention/tell-waiting", self._resend_waiting, methods=["POST"])
        for what in ACKNOWLEDGEABLE:
            router.add_api_route(f"/attention/{what.value}/looked-at", self._acknowledge_kind(what), methods=["POST"])
        router.add_api_route("/attention/payments/{order_id}/look", self._look_up, methods=["POST"])
        router.add_api_route("/attention/payments/{order_id}/looked-at", self._acknowledge_payment, methods=["POST"])
        router.add_api_route(
            "/attention/payments/{order_id}/tell-refused", self._resend_refused_of_payment, methods=["POST"]
        )

    async def _page(self, request: Request, staff: AnyStaff) -> HTMLResponse:
        params = request.query_params
        return await self._render(staff, AttentionQuery.from_params(params.get("what", ""), params.get("after", "")))

    async def _resend_refused(self, staff: AnyStaff) -> HTMLResponse:
        resent = await resend_refused_events(self._services, staff.installation.id)
        log.info("refused_events.resent", staff=staff.id, events=resent)
        return await self._render(staff, flash=_RESENT if resent else _NOTHING_TO_RESEND)

    async def _resend_waiting(self, staff: AnyStaff) -> HTMLResponse:
        resent = await send_undelivered_events(self._services, staff.installation.id)
        log.info("waiting_events.resent", staff=staff.id, events=resent)
        return await self._render(staff, flash=_RESENT if resent else _NOTHING_TO_RESEND)

    def _acknowledge_kind(self, what: AlertKind) -> Callable[..., Awaitable[HTMLResponse]]:
        async def acknowledge(staff: AnyStaff) -> HTMLResponse:
            if what is AlertKind.UNKNOWN_ORDERS:
                acknowledged = await acknowledge_unknown_orders(self._services, staff.installation.id)
            elif what is AlertKind.TURNED_AWAY:
                acknowledged = await acknowledge_turned_away(self._services, staff.installation.id)
            else:
                acknowledged = await acknowledge_notifications(self._services, staff.installation.id, what)
            log.info("alerts.acknowledged", staff=staff.id, what=what.value, count=acknowledged)
            return await self._render(staff, flash=_ACKNOWLEDGED if acknowledged else _NOTHING_ACKNOWLEDGED)

        return acknowledge

    async def _look_up(self, order_id: str, staff: AnyStaff) -> HTMLResponse:
        known_id = await self._find_order_id(staff, order_id)
        try:
            error = await look_up_now(self._services, known_id)
        except RefusalError as refusal:
            raise http_error(409, refusal.code, staff.translation, refusal.message) from refusal
        if error is not None:
            log.warning("look_up.failed", payment=known_id, error=str(error))
            raise http_error(502, "GATEWAY", staff.translation, _GATEWAY_UNREACHABLE)
        return await self._render(staff, flash=_LOOKED_UP)

    async def _acknowledge_payment(self, order_id: str, staff: AnyStaff, what: str = "") -> HTMLResponse:
        """Acknowledge what staff have read: the payment's problems in the section ``what``; all of them without it."""
        known_id, kind = await self._find_order_id(staff, order_id), AttentionQuery.from_params(what, "").what
        acknowledged = await acknowledge_problems(self._services, staff.installation.id, known_id, kind)
        log.info("problems.acknowledged", payment=known_id, staff=staff.id, problems=len(acknowledged or ()))
        return await self._render(
            staff, flash=_ACKNOWLEDGED if acknowledged else await self._why_not_acknowledged(staff, known_id, kind)
        )

    async def _why_not_acknowledged(self, staff: Staff, order_id: str, kind: AlertKind | None) -> str:
        async with self._services.database.transaction() as session:
            aggregate = await find_by_order(session, order_id, installation_id=staff.installation.id)
        problems = () if aggregate is None else open_problems(aggregate.payment)
        undecided = any(needs_decision(problem) for problem in problems if kind in {None, problem.kind})
        return _STILL_OPEN if undecided else _NOTHING_ACKNOWLEDGED

    async def _resend_refused_of_payment(self, order_id: str, staff: AnyStaff) -> HTMLResponse:
        known_id = await self._find_order_id(staff, order_id)
        resent = await resend_refused_events(self._services, staff.installation.id, known_id)
        log.info("refused_events.resent", payment=known_id, staff=staff.id, events=resent)
        return await self._render(staff, flash=_RESENT if resent else _NOTHING_TO_RESEND)

    async def _find_order_id(self, staff: Staff, order_id: str) -> str:
        """Return the current order id of a payment of that store. Raises HTTPException 404 when there is none."""
        async with self._services.database.transaction() as session:
            aggregate = await find_by_order(session, order_id, installation_id=staff.installation.id)
        if aggregate is None:
            raise http_error(404, "UNKNOWN_PAYMENT", staff.translation, _NO_PAYMENT)
        return aggregate.payment.order_id

    async def _render(
        self, staff: Staff, wanted: AttentionQuery = _EVERYTHING, flash: str | None = None
    ) -> HTMLResponse:
        sections = await read_sections(self._services, staff.installation, wanted)
        return await self._renderer.part(
            "attention/page.html",
            staff,
            here=ATTENTION,
            sections=sections,
            books=None if sections else await read_store_books_comparison(self._services, staff.installation),
            everything=wanted.what is None,
            flash=flash,
            looking=[kind.value for kind in ACKNOWLEDGEABLE],
        )
