"""The parts about what needs a person. Nothing here moves money: it is looked at, looked up, or told again."""

from collections.abc import Awaitable, Callable

import structlog
from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse

from app.dashboard.attention.page import Wanted, books_of, read_sections
from app.dashboard.navigation import ATTENTION, OpenTasks
from app.dashboard.renderer import Renderer
from app.dashboard.staff import AnyStaff, Staff, refused
from app.db.aggregates import find_by_order
from app.i18n.messages import gettext_noop
from app.payments.alerts.items import AlertKind
from app.payments.core.problems import needs_decision, open_problems
from app.payments.core.refusal import RefusalError
from app.payments.services import Services
from app.payments.staff.manual_resolution import (
    mark_looked_at,
    mark_notifications_looked_at,
    mark_unknown_orders_looked_at,
    tell_refused_again,
    tell_waiting_now,
)
from app.payments.sync.on_demand import ask_now

log = structlog.get_logger(__name__)

TO_BE_LOOKED_AT = (AlertKind.UNREADABLE, AlertKind.UNMATCHED, AlertKind.UNKNOWN_ORDERS)
"""What is taken away by looking. The others come back as long as their cause is there."""

_NO_PAYMENT = gettext_noop("This store has no such payment.")
_NOT_ASKED = gettext_noop("The gateway could not be asked. Try again in a minute.")
_LOOKED_UP = gettext_noop("The gateway was asked. What it told is recorded.")
_LOOKED_AT = gettext_noop("It is marked as looked at.")
_NOTHING_TO_LOOK_AT = gettext_noop("Nothing was marked: this goes away by itself when its cause is gone.")
_STILL_OPEN = gettext_noop("It stays here: its outcome is still open. Settle it by hand when you know how it ended.")
_TOLD_AGAIN = gettext_noop("Saleor is told again. What it takes disappears from here in a moment.")
_NOTHING_TO_TELL = gettext_noop("There is nothing that Saleor could be told again.")


class AttentionParts:
    """The parts about what needs a person, as ``renderer`` writes them."""

    def __init__(self, services: Services, renderer: Renderer, open_tasks: OpenTasks) -> None:
        self._services = services
        self._renderer = renderer
        self._open_tasks = open_tasks

    def add_to(self, router: APIRouter) -> None:
        """Add the routes to a router, whose guard lets in only whoever may handle payments."""
        router.add_api_route("/attention", self._everything, methods=["GET"])
        router.add_api_route("/attention/tell-refused", self._tell_refused, methods=["POST"])
        router.add_api_route("/attention/tell-waiting", self._tell_waiting, methods=["POST"])
        for what in TO_BE_LOOKED_AT:
            router.add_api_route(f"/attention/{what.value}/looked-at", self._looking(what), methods=["POST"])
        router.add_api_route("/attention/payments/{order_id}/look", self._look_up, methods=["POST"])
        router.add_api_route("/attention/payments/{order_id}/looked-at", self._looked_at, methods=["POST"])
        router.add_api_route("/attention/payments/{order_id}/tell-refused", self._tell_of_one, methods=["POST"])

    async def _everything(self, request: Request, staff: AnyStaff) -> HTMLResponse:
        said = request.query_params
        return await self._shown(staff, Wanted.of(said.get("what", ""), said.get("after", "")))

    async def _tell_refused(self, staff: AnyStaff) -> HTMLResponse:
        told = await tell_refused_again(self._services, staff.installation.id)
        log.info("refused events told again", staff=staff.id, events=told)
        return await self._done(staff, _TOLD_AGAIN if told else _NOTHING_TO_TELL)

    async def _tell_waiting(self, staff: AnyStaff) -> HTMLResponse:
        told = await tell_waiting_now(self._services, staff.installation.id)
        log.info("waiting events told now", staff=staff.id, events=told)
        return await self._done(staff, _TOLD_AGAIN if told else _NOTHING_TO_TELL)

    def _looking(self, what: AlertKind) -> Callable[..., Awaitable[HTMLResponse]]:
        async def acknowledge(staff: AnyStaff) -> HTMLResponse:
            if what is AlertKind.UNKNOWN_ORDERS:
                seen = await mark_unknown_orders_looked_at(self._services, staff.installation.id)
            else:
                seen = await mark_notifications_looked_at(self._services, staff.installation.id, what)
            log.info("looked at", staff=staff.id, what=what.value, count=seen)
            return await self._done(staff, _LOOKED_AT if seen else _NOTHING_TO_LOOK_AT)

        return acknowledge

    async def _look_up(self, order_id: str, staff: AnyStaff) -> HTMLResponse:
        known = await self._known(staff, order_id)
        try:
            error = await ask_now(self._services, known)
        except RefusalError as refusal:
            raise refused(409, refusal.code, staff.translation, refusal.message) from refusal
        if error is not None:
            log.warning("look-up for staff failed", payment=known, error=str(error))
            raise refused(502, "GATEWAY", staff.translation, _NOT_ASKED)
        return await self._done(staff, _LOOKED_UP)

    async def _looked_at(self, order_id: str, staff: AnyStaff) -> HTMLResponse:
        known = await self._known(staff, order_id)
        seen = await mark_looked_at(self._services, staff.installation.id, known)
        log.info("problem looked at", payment=known, staff=staff.id, problems=len(seen or ()))
        return await self._done(staff, _LOOKED_AT if seen else await self._why_it_stays(staff, known))

    async def _why_it_stays(self, staff: Staff, order_id: str) -> str:
        async with self._services.database.transaction() as session:
            aggregate = await find_by_order(session, order_id, installation_id=staff.installation.id)
        undecided = aggregate is not None and any(map(needs_decision, open_problems(aggregate.payment)))
        return _STILL_OPEN if undecided else _NOTHING_TO_LOOK_AT

    async def _tell_of_one(self, order_id: str, staff: AnyStaff) -> HTMLResponse:
        known = await self._known(staff, order_id)
        told = await tell_refused_again(self._services, staff.installation.id, known)
        log.info("refused events told again", payment=known, staff=staff.id, events=told)
        return await self._done(staff, _TOLD_AGAIN if told else _NOTHING_TO_TELL)

    async def _known(self, staff: Staff, order_id: str) -> str:
        """Return the present order id of a payment of that store."""
        async with self._services.database.transaction() as session:
            aggregate = await find_by_order(session, order_id, installation_id=staff.installation.id)
        if aggregate is None:
            raise refused(404, "UNKNOWN_PAYMENT", staff.translation, _NO_PAYMENT)
        return aggregate.payment.order_id

    async def _done(self, staff: Staff, flash: str) -> HTMLResponse:
        self._open_tasks.forget(staff.installation)
        return await self._shown(staff, Wanted(), flash)

    async def _shown(self, staff: Staff, wanted: Wanted, flash: str | None = None) -> HTMLResponse:
        sections = await read_sections(self._services, staff.installation, wanted)
        return self._renderer.part(
            "attention/page.html",
            staff,
            here=ATTENTION,
            sections=sections,
            books=None if sections else await books_of(self._services, staff.installation),
            everything=wanted.what is None,
            flash=flash,
            looking=[each.value for each in TO_BE_LOOKED_AT],
        )
