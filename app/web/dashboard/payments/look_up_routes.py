"""The look-ups at the gateway on a payment's page: of its order, an operation, a subscription, or a period's list."""

from collections.abc import Mapping
from contextlib import aclosing
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal

import structlog
from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse

from app.flows.reconciliation.orders import GatewayUnavailableError
from app.flows.staff.look_ups import (
    FoundRecords,
    PeriodProgress,
    SubscriptionMethod,
    look_up_operation,
    look_up_order,
    look_up_period,
    look_up_subscription,
)
from app.i18n.messages import gettext_noop
from app.rules.refusal import RefusalError
from app.services import Services
from app.store.aggregates import account_of
from app.store.tables import MerchantAccount
from app.web.dashboard.form import InvalidFieldsError, read_form_fields
from app.web.dashboard.payments.actions import Flash
from app.web.dashboard.payments.days import Day
from app.web.dashboard.payments.page import PaymentRenderer
from app.web.dashboard.staff import AnyStaff, http_error
from gateway_client.errors import GatewayError, sanitize
from gateway_client.models import Method, Status
from gateway_client.models.reports import LONGEST_PERIOD

log = structlog.get_logger(__name__)

MAX_LINES = 200
"""The maximum number of lines of a period that a page shows; the register has all of them."""

_LOOKED_UP = gettext_noop(
    "The gateway responded. Its records are shown below, and what they say about this order has been recorded."
)
_GATEWAY_UNREACHABLE = gettext_noop("The request to the gateway failed. Try again in a minute.")
_NOT_OFFERED = gettext_noop("This is not one of the available options. Reload the page.")
_NO_DAY = gettext_noop("Enter a date like 2026-11-21.")
_BACKWARDS = gettext_noop("The last day is before the first day.")
_TOO_LONG = gettext_noop("You can request at most 31 days at once.")
_NOT_RIGHT = gettext_noop("Some fields need to be corrected: see the messages beside them.")


@dataclass(frozen=True, slots=True)
class RecordRow:
    """One transaction, as the gateway reports it."""

    at: datetime | None
    order_id: str
    method: str
    status: str
    amount: Decimal | None
    currency: str
    name: str


@dataclass(frozen=True, slots=True)
class LookUpResult:
    """The gateway's records. ``more``: it has more than are shown; ``unreadable`` is the number of omitted records.

    ``posted`` names what was posted from them.
    """

    rows: tuple[RecordRow, ...]
    posted: tuple[str, ...]
    unreadable: int = 0
    more: bool = False


class LookUpParts:
    """The routes of the look-ups at the gateway."""

    def __init__(self, services: Services, payment_page: PaymentRenderer) -> None:
        self._services = services
        self._payment_page = payment_page

    def add_to(self, router: APIRouter) -> None:
        """Add the routes to a router whose guard requires the permission to handle payments."""
        router.add_api_route("/payments/{order_id}/ask", self._look_up, methods=["POST"])

    async def _look_up(self, request: Request, order_id: str, staff: AnyStaff) -> HTMLResponse:
        payment = (await self._payment_page.load(staff, order_id)).payment
        params = dict(await read_form_fields(request))
        try:
            answer = await self._query(account_of(payment), payment.order_id, params)
        except InvalidFieldsError as error:
            raise http_error(422, "INVALID_DATA", staff.translation, _NOT_RIGHT, fields=error.fields) from error
        except RefusalError as refusal:
            raise http_error(422, refusal.code, staff.translation, refusal.message) from refusal
        except (GatewayError, GatewayUnavailableError) as error:
            log.warning("gateway_call.failed", payment=payment.order_id, error=str(error))
            raise http_error(502, "GATEWAY", staff.translation, _GATEWAY_UNREACHABLE) from error
        return await self._payment_page.render(staff, order_id, Flash(_LOOKED_UP), answer)

    async def _query(self, account: MerchantAccount, order_id: str, params: Mapping[str, str]) -> LookUpResult:
        """Query the gateway. Raises InvalidFieldsError, RefusalError, GatewayError and GatewayUnavailableError."""
        services = self._services
        match params.get("what"):
            case "order":
                method = params.get("method", "")
                if not method:
                    return _to_result(await look_up_order(services, account, order_id))
                if method not in {method.value for method in Method}:
                    raise InvalidFieldsError({"method": _NOT_OFFERED})
                return _to_result(await look_up_operation(services, account, order_id, Method(method)))
            case "subscription":
                kinds: dict[str, SubscriptionMethod] = {"purchase": Method.PURCHASE, "refund": Method.REFUND}
                kind, status = kinds.get(params.get("method", "")), params.get("status", "")
                if kind is None or status not in set(Status):
                    given = {"method": kind is not None, "status": status in set(Status)}
                    raise InvalidFieldsError({name: _NOT_OFFERED for name, offered in given.items() if not offered})
                name = params.get("subscription", "")
                return _to_result(await look_up_subscription(services, account, name, kind, Status(status)))
            case "period":
                return await self._look_up_period(account, *_read_period(params))
        raise InvalidFieldsError({"what": _NOT_OFFERED})

    async def _look_up_period(self, account: MerchantAccount, start: datetime, end: datetime) -> LookUpResult:
        rows: list[RecordRow] = []
        progress, more = PeriodProgress(), False
        async with aclosing(look_up_period(self._services, account, start, end, progress)) as lines:
            async for line in lines:
                if len(rows) == MAX_LINES:
                    more = True
                    break
                row = RecordRow(
                    at=line.date_time,
                    order_id=_to_text(line.order_id),
                    method=_to_text(line.method),
                    status=_to_text(line.status),
                    amount=line.amount,
                    currency=_to_text(line.currency),
                    name=_to_text(line.payment_id),
                )
                rows.append(row)
        return LookUpResult(tuple(rows), tuple(progress.posted), progress.unreadable, more)


def _read_period(params: Mapping[str, str]) -> tuple[datetime, datetime]:
    """Return the period from the start of one day to the end of another. Raises InvalidFieldsError."""
    days = {name: Day.parse(params.get(name, "")) for name in ("from", "to")}
    errors = {name: _NO_DAY for name, day in days.items() if day is None}
    first, last = days["from"], days["to"]
    if errors or first is None or last is None:
        raise InvalidFieldsError(errors)
    if last.ends <= first.begins:
        raise InvalidFieldsError({"to": _BACKWARDS})
    if last.ends - first.begins > LONGEST_PERIOD + timedelta(hours=1):  # clocks may be put back in it
        raise InvalidFieldsError({"to": _TOO_LONG})
    return first.begins, last.ends


def _to_result(found: FoundRecords) -> LookUpResult:
    rows = [
        RecordRow(
            at=record.created_at,
            order_id=_to_text(record.order_id),
            method=_to_text(record.method),
            status=_to_text(f"{record.status} [{record.status_code}]" if record.status_code else record.status),
            amount=record.amount,
            currency=_to_text(record.currency),
            name=_to_text(getattr(record, "operation_id", record.payment_id)),
        )
        for record in found.records
    ]
    return LookUpResult(tuple(rows), found.posted, len(found.records.unreadable))


def _to_text(value: object) -> str:
    """Return a value of the gateway as text that is safe to show on a page."""
    return "" if value is None else sanitize(str(value))
