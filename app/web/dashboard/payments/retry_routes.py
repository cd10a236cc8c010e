"""The routes with which staff repeat look-ups, events and notifications, or view raw messages. Nothing moves money."""

from collections.abc import Sequence

import structlog
from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse

from app.core.notification import StoredNotification
from app.core.payment import PaymentAggregate
from app.flows.on_demand import fetch_records, look_up_now, reprocess, request_notifications, resend_events
from app.i18n.messages import Joined, LazyMessage, gettext_noop
from app.reports.raw import Source, raw_messages, raw_records
from app.reports.status import undelivered_events, unprocessed_notifications
from app.rules.refusal import RefusalError
from app.services import Services
from app.web.dashboard.form import read_form_fields
from app.web.dashboard.payments.actions import Flash
from app.web.dashboard.payments.page import PaymentRenderer
from app.web.dashboard.renderer import Renderer
from app.web.dashboard.staff import AnyStaff, Staff, http_error
from gateway_client.errors import GatewayError
from gateway_client.models import Method

log = structlog.get_logger(__name__)

_GATEWAY_UNREACHABLE = gettext_noop("The request to the gateway failed. Try again in a minute.")
_LOOKED_UP = gettext_noop("The payment was looked up at the gateway. This is its current state.")
_NOTIFICATIONS_REQUESTED = gettext_noop(
    "The gateway was asked to send its notifications again. They will arrive in a moment: reload the page then."
)
_NO_RECORD = gettext_noop("The gateway has no record of this, so there is nothing to send notifications about.")
_NOT_OFFERED = gettext_noop("This is not one of the available options. Reload the page.")
_NO_NAME = gettext_noop("This is not a valid gateway ID.")
_LONGEST_NAME = 256
_RESENT = gettext_noop("The events are being sent to Saleor again. Reload the page.")
_NOTHING_TO_RESEND = gettext_noop("There is nothing that Saleor has refused or not received.")
_REPROCESSED = gettext_noop("The notifications were processed again.")
_NOT_REPROCESSED = gettext_noop("Some notifications could not be processed. The app will retry automatically.")
_SOURCES = {
    Source.REQUESTED: gettext_noop("Request to the gateway:"),
    Source.NOTIFIED: gettext_noop("Notification from the gateway:"),
    Source.REPORTED: gettext_noop("Event sent to Saleor:"),
}


class RetryParts:
    """The routes of a payment's page that query, resend or reprocess something once more, or show raw messages."""

    def __init__(self, services: Services, renderer: Renderer, payment_page: PaymentRenderer) -> None:
        self._services = services
        self._renderer = renderer
        self._payment_page = payment_page

    def add_to(self, router: APIRouter) -> None:
        """Add the routes to a router whose guard requires the permission to handle payments."""
        here = "/payments/{order_id}"
        router.add_api_route(f"{here}/raw", self._raw, methods=["GET"])
        router.add_api_route(f"{here}/at-gateway", self._at_gateway, methods=["GET"])
        router.add_api_route(f"{here}/look", self._look_up, methods=["POST"])
        router.add_api_route(f"{here}/notify-again", self._notify_again, methods=["POST"])
        router.add_api_route(f"{here}/tell-again", self._resend_events, methods=["POST"])
        router.add_api_route(f"{here}/work-again", self._reprocess_notifications, methods=["POST"])

    async def _raw(self, order_id: str, staff: AnyStaff) -> HTMLResponse:
        aggregate = await self._payment_page.load(staff, order_id)
        messages = raw_messages(aggregate, await self._notifications(aggregate))
        return await self._renderer.part("payments/raw.html", staff, here=None, messages=messages, sources=_SOURCES)

    async def _at_gateway(self, order_id: str, staff: AnyStaff) -> HTMLResponse:
        payment = (await self._payment_page.load(staff, order_id)).payment
        records = await fetch_records(self._services, payment.order_id)
        if isinstance(records, GatewayError):
            raise self._gateway_error(staff, payment.order_id, records)
        return await self._renderer.part("payments/at_gateway.html", staff, here=None, text=raw_records(records))

    async def _look_up(self, order_id: str, staff: AnyStaff) -> HTMLResponse:
        payment = (await self._payment_page.load(staff, order_id)).payment
        try:
            error = await look_up_now(self._services, payment.order_id)
        except RefusalError as refusal:
            raise http_error(409, refusal.code, staff.translation, refusal.message) from refusal
        if error is not None:
            raise self._gateway_error(staff, payment.order_id, error)
        return await self._payment_page.render(staff, order_id, Flash(_LOOKED_UP))

    async def _notify_again(self, request: Request, order_id: str, staff: AnyStaff) -> HTMLResponse:
        payment = (await self._payment_page.load(staff, order_id)).payment
        params = dict(await read_form_fields(request))
        method, transaction_id = params.get("method", ""), params.get("transaction_id", "").strip()
        field_errors = {}
        if method and method not in {method.value for method in Method}:
            field_errors["method"] = _NOT_OFFERED
        if len(transaction_id) > _LONGEST_NAME or not transaction_id.isprintable():
            field_errors["transaction_id"] = _NO_NAME
        if field_errors:
            raise http_error(
                422,
                "INVALID_DATA",
                staff.translation,
                Joined(tuple(LazyMessage(error) for error in field_errors.values()), by=" "),
                fields=field_errors,
            )
        only = Method(method) if method else Method.PURCHASE if transaction_id else None
        answers = await request_notifications(
            self._services, payment.order_id, only, transaction_id=transaction_id or None
        )
        errors = [answer.error for answer in answers if answer.error is not None]
        if errors:
            raise self._gateway_error(staff, payment.order_id, errors[0])
        if not any(answer.records for answer in answers):
            return await self._payment_page.render(staff, order_id, Flash(_NO_RECORD, "info"))
        return await self._payment_page.render(staff, order_id, Flash(_NOTIFICATIONS_REQUESTED))

    async def _resend_events(self, order_id: str, staff: AnyStaff) -> HTMLResponse:
        aggregate = await self._payment_page.load(staff, order_id)
        resent = await resend_events(
            self._services, [event.id for event in undelivered_events(aggregate) if event.id is not None]
        )
        log.info("events.resent", payment=aggregate.payment.order_id, staff=staff.id, events=resent)
        return await self._payment_page.render(
            staff, order_id, Flash(_RESENT) if resent else Flash(_NOTHING_TO_RESEND, "info")
        )

    async def _reprocess_notifications(self, order_id: str, staff: AnyStaff) -> HTMLResponse:
        aggregate = await self._payment_page.load(staff, order_id)
        succeeded = await reprocess(self._services, unprocessed_notifications(await self._notifications(aggregate)))
        return await self._payment_page.render(
            staff, order_id, Flash(_REPROCESSED) if succeeded else Flash(_NOT_REPROCESSED, "info")
        )

    async def _notifications(self, aggregate: PaymentAggregate) -> Sequence[StoredNotification]:
        return await self._services.inbox.find_for_order(aggregate.payment.account_id, aggregate.payment.order_id)

    def _gateway_error(self, staff: Staff, order_id: str, error: GatewayError) -> Exception:
        log.warning("gateway_call.failed", payment=order_id, error=str(error))
        return http_error(502, "GATEWAY", staff.translation, _GATEWAY_UNREACHABLE)
