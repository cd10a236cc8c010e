"""What staff let be done again, and what they look at as it was said: nothing here moves money."""

from collections.abc import Sequence

import structlog
from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse

from app.dashboard.form import fields_of
from app.dashboard.payments.actions import Flash
from app.dashboard.payments.payment_view import Shown
from app.dashboard.renderer import Renderer
from app.dashboard.staff import AnyStaff, Staff, refused
from app.db.aggregates import PaymentAggregate
from app.db.inbox import StoredNotification
from app.gateway.errors import GatewayError
from app.gateway.models import Method
from app.i18n.messages import Joined, LazyMessage, gettext_noop
from app.payments.core.refusal import RefusalError
from app.payments.services import Services
from app.payments.staff.raw import Source, raw, raw_records
from app.payments.sync.on_demand import (
    ask_now,
    ask_to_notify,
    process_again,
    records_now,
    tell_again,
    unprocessed,
    untold,
)

log = structlog.get_logger(__name__)

_NOT_ASKED = gettext_noop("The gateway could not be asked. Try again in a minute.")
_LOOKED_UP = gettext_noop("The gateway was asked: this is how it stands now.")
_NOTIFIES = gettext_noop(
    "The gateway was asked to send its notifications again. They come in a moment: look at the page again."
)
_NO_RECORD = gettext_noop("The gateway has no record of that, so it has nothing to notify of.")
_NOT_OFFERED = gettext_noop("This is none of those that can be chosen: reload the page.")
_NO_NAME = gettext_noop("This is no name that the gateway gives.")
_LONGEST_NAME = 256
_TOLD = gettext_noop("Saleor is told again in this moment: look at the page again.")
_NOTHING_TO_TELL = gettext_noop("There is nothing that Saleor has refused or not taken.")
_DIGESTED = gettext_noop("The notifications were worked on again.")
_NOT_DIGESTED = gettext_noop("Not all notifications could be worked on. The app tries again by itself.")
_SOURCES = {
    Source.ASKED: gettext_noop("The gateway was asked:"),
    Source.NOTIFIED: gettext_noop("The gateway notified:"),
    Source.TOLD: gettext_noop("Saleor was told:"),
}


class AgainParts:
    """The parts of a payment's page with which something is asked, told or made of once more."""

    def __init__(self, services: Services, renderer: Renderer, shown: Shown) -> None:
        self._services = services
        self._renderer = renderer
        self._shown = shown

    def add_to(self, router: APIRouter) -> None:
        """Add the routes to a router, whose guard lets in only whoever may handle payments."""
        here = "/payments/{order_id}"
        router.add_api_route(f"{here}/raw", self._raw, methods=["GET"])
        router.add_api_route(f"{here}/at-gateway", self._at_gateway, methods=["GET"])
        router.add_api_route(f"{here}/look", self._look_up, methods=["POST"])
        router.add_api_route(f"{here}/notify-again", self._notify_again, methods=["POST"])
        router.add_api_route(f"{here}/tell-again", self._tell_again, methods=["POST"])
        router.add_api_route(f"{here}/work-again", self._work_again, methods=["POST"])

    async def _raw(self, order_id: str, staff: AnyStaff) -> HTMLResponse:
        aggregate = await self._shown.payment(staff, order_id)
        messages = raw(aggregate, await self._notifications(aggregate))
        return self._renderer.part("payments/raw.html", staff, here=None, messages=messages, sources=_SOURCES)

    async def _at_gateway(self, order_id: str, staff: AnyStaff) -> HTMLResponse:
        payment = (await self._shown.payment(staff, order_id)).payment
        records = await records_now(self._services, payment.order_id)
        if isinstance(records, GatewayError):
            raise self._not_asked(staff, payment.order_id, records)
        return self._renderer.part("payments/at_gateway.html", staff, here=None, text=raw_records(records))

    async def _look_up(self, order_id: str, staff: AnyStaff) -> HTMLResponse:
        payment = (await self._shown.payment(staff, order_id)).payment
        try:
            error = await ask_now(self._services, payment.order_id)
        except RefusalError as refusal:
            raise refused(409, refusal.code, staff.translation, refusal.message) from refusal
        if error is not None:
            raise self._not_asked(staff, payment.order_id, error)
        return await self._shown.part(staff, order_id, Flash(_LOOKED_UP))

    async def _notify_again(self, request: Request, order_id: str, staff: AnyStaff) -> HTMLResponse:
        payment = (await self._shown.payment(staff, order_id)).payment
        said = dict(await fields_of(request))
        method, transaction_id = said.get("method", ""), said.get("transaction_id", "").strip()
        wrong = {}
        if method and method not in {each.value for each in Method}:
            wrong["method"] = _NOT_OFFERED
        if len(transaction_id) > _LONGEST_NAME or not transaction_id.isprintable():
            wrong["transaction_id"] = _NO_NAME
        if wrong:
            raise refused(
                422,
                "INVALID_DATA",
                staff.translation,
                Joined(tuple(LazyMessage(each) for each in wrong.values()), by=" "),
                fields=wrong,
            )
        only = Method(method) if method else Method.PURCHASE if transaction_id else None
        answers = await ask_to_notify(self._services, payment.order_id, only, transaction_id=transaction_id or None)
        errors = [each.error for each in answers if each.error is not None]
        if errors:
            raise self._not_asked(staff, payment.order_id, errors[0])
        if not any(each.records for each in answers):
            return await self._shown.part(staff, order_id, Flash(_NO_RECORD, "info"))
        return await self._shown.part(staff, order_id, Flash(_NOTIFIES))

    async def _tell_again(self, order_id: str, staff: AnyStaff) -> HTMLResponse:
        aggregate = await self._shown.payment(staff, order_id)
        told = await tell_again(self._services, [each.id for each in untold(aggregate) if each.id is not None])
        log.info("staff let Saleor be told again", payment=aggregate.payment.order_id, staff=staff.id, events=told)
        return await self._shown.part(staff, order_id, Flash(_TOLD) if told else Flash(_NOTHING_TO_TELL, "info"))

    async def _work_again(self, order_id: str, staff: AnyStaff) -> HTMLResponse:
        aggregate = await self._shown.payment(staff, order_id)
        went_well = await process_again(self._services, unprocessed(await self._notifications(aggregate)))
        return await self._shown.part(staff, order_id, Flash(_DIGESTED) if went_well else Flash(_NOT_DIGESTED, "info"))

    async def _notifications(self, aggregate: PaymentAggregate) -> Sequence[StoredNotification]:
        return await self._services.inbox.of_order(aggregate.payment.account_id, aggregate.payment.order_id)

    def _not_asked(self, staff: Staff, order_id: str, error: GatewayError) -> Exception:
        log.warning("the gateway could not be asked for staff", payment=order_id, error=str(error))
        return refused(502, "GATEWAY", staff.translation, _NOT_ASKED)
