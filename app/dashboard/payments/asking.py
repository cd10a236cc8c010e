"""Staff ask the gateway from a payment's page: for its order, an operation, a subscription, the list of a period."""

from collections.abc import Mapping
from contextlib import aclosing
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal

import structlog
from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse

from app.dashboard.form import fields_of
from app.dashboard.payments.actions import Flash
from app.dashboard.payments.days import Day
from app.dashboard.payments.payment_view import Shown
from app.dashboard.staff import AnyStaff, refused
from app.db.tables import MerchantAccount
from app.gateway.errors import GatewayError, quoted
from app.gateway.models import Method, Status
from app.gateway.models.reports import LONGEST_PERIOD
from app.i18n.messages import gettext_noop
from app.payments.core.refusal import RefusalError
from app.payments.reconciliation.orders import GatewayAwayError
from app.payments.services import Services
from app.payments.staff.look_ups import (
    Found,
    PeriodProgress,
    SubscriptionMethod,
    look_up_operation,
    look_up_order,
    look_up_period,
    look_up_subscription,
)

log = structlog.get_logger(__name__)

MOST_LINES = 200
"""Lines of a period that a page shows; the register has all of them."""

_ASKED = gettext_noop("The gateway was asked: what it has stands below, and what it says of this payment is posted.")
_NOT_ASKED = gettext_noop("The gateway could not be asked. Try again in a minute.")
_NOT_OFFERED = gettext_noop("This is none of those that can be chosen: reload the page.")
_NO_DAY = gettext_noop("Write a day like 2026-11-21.")
_BACKWARDS = gettext_noop("The last day is before the first.")
_TOO_LONG = gettext_noop("At most 31 days are asked for at once.")
_NOT_RIGHT = gettext_noop("Something in the form is not right: see beside the fields.")


@dataclass(frozen=True, slots=True)
class Row:
    """One transaction, as the gateway has it."""

    at: datetime | None
    order_id: str
    method: str
    status: str
    amount: Decimal | None
    currency: str
    name: str


@dataclass(frozen=True, slots=True)
class Answer:
    """What the gateway has. ``more``: it has more than is shown; ``unreadable`` records are left out."""

    rows: tuple[Row, ...]
    posted: tuple[str, ...]
    unreadable: int = 0
    more: bool = False


class _WrongFormError(Exception):
    def __init__(self, **fields: str) -> None:
        super().__init__(", ".join(fields))
        self.fields = fields


class AskParts:
    """The parts with which the gateway is asked what it has."""

    def __init__(self, services: Services, shown: Shown) -> None:
        self._services = services
        self._shown = shown

    def add_to(self, router: APIRouter) -> None:
        """Add the routes to a router, whose guard lets in only whoever may handle payments."""
        router.add_api_route("/payments/{order_id}/ask", self._ask, methods=["POST"])

    async def _ask(self, request: Request, order_id: str, staff: AnyStaff) -> HTMLResponse:
        payment = (await self._shown.payment(staff, order_id)).payment
        said = dict(await fields_of(request))
        try:
            answer = await self._answer(payment.account, payment.order_id, said)
        except _WrongFormError as wrong:
            raise refused(422, "INVALID_DATA", staff.translation, _NOT_RIGHT, fields=wrong.fields) from wrong
        except RefusalError as refusal:
            raise refused(422, refusal.code, staff.translation, refusal.message) from refusal
        except (GatewayError, GatewayAwayError) as error:
            log.warning("the gateway could not be asked for staff", payment=payment.order_id, error=str(error))
            raise refused(502, "GATEWAY", staff.translation, _NOT_ASKED) from error
        return await self._shown.part(staff, order_id, Flash(_ASKED), answer)

    async def _answer(self, account: MerchantAccount, order_id: str, said: Mapping[str, str]) -> Answer:
        """Ask. Raises _WrongFormError, RefusalError, GatewayError and GatewayAwayError."""
        services = self._services
        match said.get("what"):
            case "order":
                method = said.get("method", "")
                if not method:
                    return _of(await look_up_order(services, account, order_id))
                if method not in {each.value for each in Method}:
                    raise _WrongFormError(method=_NOT_OFFERED)
                return _of(await look_up_operation(services, account, order_id, Method(method)))
            case "subscription":
                kinds: dict[str, SubscriptionMethod] = {"purchase": Method.PURCHASE, "refund": Method.REFUND}
                kind, status = kinds.get(said.get("method", "")), said.get("status", "")
                if kind is None:
                    raise _WrongFormError(method=_NOT_OFFERED)
                if status not in {each.value for each in Status}:
                    raise _WrongFormError(status=_NOT_OFFERED)
                name = said.get("subscription", "")
                return _of(await look_up_subscription(services, account, name, kind, Status(status)))
            case "period":
                return await self._period(account, *_period(said))
        raise _WrongFormError(what=_NOT_OFFERED)

    async def _period(self, account: MerchantAccount, start: datetime, end: datetime) -> Answer:
        rows: list[Row] = []
        progress, more = PeriodProgress(), False
        async with aclosing(look_up_period(self._services, account, start, end, progress)) as lines:
            async for line in lines:
                if len(rows) == MOST_LINES:
                    more = True
                    break
                row = Row(
                    at=line.date_time,
                    order_id=_text(line.order_id),
                    method=_text(line.method),
                    status=_text(line.status),
                    amount=line.amount,
                    currency=_text(line.currency),
                    name=_text(line.payment_id),
                )
                rows.append(row)
        return Answer(tuple(rows), tuple(progress.posted), progress.unreadable, more)


def _period(said: Mapping[str, str]) -> tuple[datetime, datetime]:
    """Return the period from the beginning of a day to the end of another. Raises _WrongFormError."""
    days = {name: Day.read(said.get(name, "")) for name in ("from", "to")}
    wrong = {name: _NO_DAY for name, day in days.items() if day is None}
    first, last = days["from"], days["to"]
    if wrong or first is None or last is None:
        raise _WrongFormError(**wrong)
    if last.ends <= first.begins:
        raise _WrongFormError(to=_BACKWARDS)
    if last.ends - first.begins > LONGEST_PERIOD + timedelta(hours=1):  # clocks may be put back in it
        raise _WrongFormError(to=_TOO_LONG)
    return first.begins, last.ends


def _of(found: Found) -> Answer:
    rows = [
        Row(
            at=each.created_at,
            order_id=_text(each.order_id),
            method=_text(each.method),
            status=_text(f"{each.status} [{each.status_code}]" if each.status_code else each.status),
            amount=each.amount,
            currency=_text(each.currency),
            name=_text(getattr(each, "operation_id", each.payment_id)),
        )
        for each in found.records
    ]
    return Answer(tuple(rows), found.posted, len(found.records.unreadable))


def _text(said: object) -> str:
    """Return what the gateway has said so that it can stand on a page."""
    return "" if said is None else quoted(str(said))
