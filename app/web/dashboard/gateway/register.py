"""The page from which staff download the gateway's register: any period, in pieces, with progress.

The response to the form is a list of JSON objects, one a line: pieces of the file, and progress messages between them.
Only the last line states that the file is complete; the page saves nothing without it. So a download that breaks off
anywhere, at the gateway, here or on the way, is never mistaken for a register.
"""

import asyncio
from base64 import b64encode
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import aclosing, suppress
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time, timedelta
from enum import StrEnum
from typing import TypeVar

import structlog
from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, StreamingResponse

from app.flows.accounts.gateway_access import Area, finding_of
from app.flows.look_up import client_of
from app.i18n.messages import LazyMessage, Value, gettext_noop
from app.i18n.translation import Translation
from app.reports.register import USUAL_FIELDS, Form, RegisterProgress, RegisterQuery, stream_register
from app.reports.sheet import SheetError
from app.services import Services
from app.store.tables import MerchantAccount
from app.web.dashboard.form import InvalidFieldsError, read_form_fields
from app.web.dashboard.renderer import BALANCES, SET_UP, Renderer
from app.web.dashboard.sheet_response import NO_SPACE, style_of
from app.web.dashboard.staff import AnyStaff, Staff, http_error
from gateway_client.errors import GatewayError
from gateway_client.models import Method, Status
from gateway_client.models.reports import RegisterColumn
from integration_base.exact_json import dumps

log = structlog.get_logger(__name__)

W = TypeVar("W", bound=StrEnum)

REGISTER = "/register"
MAX_CONCURRENT = 4
"""The limit of concurrent downloads of one process, over all stores: each holds a gateway connection for long."""

_HEARTBEAT = 1.0  # seconds without data after which a progress line is sent
_LONGEST = timedelta(days=3660)
_FIRST_DAY, _LAST_DAY = date(2000, 1, 1), date(2099, 12, 31)

_NO_ACCOUNT = gettext_noop("This store has no such merchant account.")
_NO_DAY = gettext_noop("Enter a date in this century, like 2026-11-21.")
_BACKWARDS = gettext_noop("The last day is before the first day.")
_TOO_LONG = gettext_noop("You can download at most ten years at once.")
_NOT_OFFERED = gettext_noop("This is not one of the available options. Reload the page.")
_NOT_RIGHT = gettext_noop("Some fields need to be corrected: see the messages beside them.")
_TOO_MANY = gettext_noop("Too many registers are being downloaded right now. Try again in a few minutes.")
_BROKEN = gettext_noop(
    "The download was interrupted, and nothing was saved: the gateway did not send the whole register. Try again."
)


@dataclass(frozen=True, slots=True)
class RegisterForm:
    """The contents of the form: an account and the query of its register."""

    account: str
    query: RegisterQuery


class RegisterParts:
    """The routes of the register page."""

    def __init__(self, services: Services, renderer: Renderer) -> None:
        self._services = services
        self._renderer = renderer
        self._active_downloads = 0

    def add_to(self, router: APIRouter) -> None:
        """Add the routes to a router whose guard requires the permission to handle payments."""
        router.add_api_route(REGISTER, self._form, methods=["GET"])
        router.add_api_route(f"{REGISTER}/download", self._download, methods=["POST"])

    async def _form(self, staff: AnyStaff) -> HTMLResponse:
        today = self._services.now().astimezone(UTC).date()
        return await self._renderer.part(
            "gateway/register.html",
            staff,
            here=BALANCES,
            accounts=await self._services.accounts.all(staff.installation.id),
            first=today.replace(day=1),
            today=today,
            statuses=list(Status),
            methods=list(Method),
            fields=list(RegisterColumn),
            usual=USUAL_FIELDS,
            sets_up=staff.permissions >= SET_UP.permissions,
        )

    async def _download(self, request: Request, staff: AnyStaff) -> StreamingResponse:
        try:
            fields = await read_form_fields(request)
            form = read_form(fields)
        except InvalidFieldsError as error:
            raise http_error(422, "INVALID_DATA", staff.translation, _NOT_RIGHT, fields=error.fields) from error
        account = await self._account(staff, form.account)
        if self._active_downloads >= MAX_CONCURRENT:
            raise http_error(429, "BUSY", staff.translation, _TOO_MANY)
        self._active_downloads += 1
        progress = RegisterProgress()
        try:
            query = replace(form.query, style=style_of(staff, dict(fields)))
            pieces = stream_register(client_of(self._services, account), query, progress)
            first = await anext(pieces)
        except GatewayError as error:
            finding = finding_of(Area.REGISTER, error, account.register_url or account.base_url)
            message = LazyMessage("The register is not available: %(why)s.", why=finding.why or "")
            log.warning("register.not_started", account=account.id, error=str(error))
            raise http_error(502, "GATEWAY", staff.translation, message) from error
        finally:
            self._active_downloads -= 1
        log.info("register.downloaded", account=account.id, staff=staff.id)
        lines = _stream_lines(first, pieces, query, progress, staff.translation)
        return StreamingResponse(self._count_stream(lines), media_type="application/x-ndjson")

    async def _count_stream(self, lines: AsyncGenerator[bytes, None]) -> AsyncIterator[bytes]:
        # Count here, not earlier: a response whose client has gone is never started, so it never reaches `finally`.
        self._active_downloads += 1
        try:
            async with aclosing(lines):
                async for line in lines:
                    yield line
        finally:
            self._active_downloads -= 1

    async def _account(self, staff: Staff, account_id: str) -> MerchantAccount:
        for account in await self._services.accounts.all(staff.installation.id):
            if account.id == account_id:
                return account
        raise http_error(404, "UNKNOWN_ACCOUNT", staff.translation, _NO_ACCOUNT)


def read_form(fields: Sequence[tuple[str, str]]) -> RegisterForm:
    """Parse the form. Days are UTC days, both included. Raises InvalidFieldsError with all invalid fields."""
    params = dict(fields)
    errors: dict[str, str] = {}
    days = {name: _parse_day(params.get(name, "")) for name in ("from", "to")}
    errors |= {name: _NO_DAY for name, day in days.items() if day is None}
    first, last = days["from"], days["to"]
    if first is not None and last is not None and last < first:
        errors["to"] = _BACKWARDS
    elif first is not None and last is not None and last - first > _LONGEST:
        errors["to"] = _TOO_LONG
    statuses = _parse_choices(fields, "status", Status, errors)
    methods = _parse_choices(fields, "method", Method, errors)
    details = _parse_choices(fields, "field", RegisterColumn, errors)
    forms = _parse_choices([("form", params.get("form", Form.CSV.value))], "form", Form, errors)
    if errors or first is None or last is None:
        raise InvalidFieldsError(errors)
    start = datetime.combine(first, time(), UTC)
    end = datetime.combine(last + timedelta(days=1), time(), UTC)
    return RegisterForm(
        params.get("account", ""), RegisterQuery(start, end, statuses, methods, details or USUAL_FIELDS, forms[0])
    )


def _parse_choices(
    fields: Sequence[tuple[str, str]], name: str, kind: type[W], errors: dict[str, str]
) -> tuple[W, ...]:
    """Return the chosen values of an enum without duplicates; record the field in ``wrong`` if any value is unknown."""
    texts = dict.fromkeys(text for field, text in fields if field == name)
    known = {member.value: member for member in kind}
    if any(text not in known for text in texts):
        errors[name] = _NOT_OFFERED
    return tuple(known[text] for text in texts if text in known)


def _parse_day(text: str) -> date | None:
    with suppress(ValueError):
        day = date.fromisoformat(text) if len(text) == len("2026-11-21") else None
        return day if day is not None and _FIRST_DAY <= day <= _LAST_DAY else None
    return None


async def _stream_lines(
    first: bytes,
    pieces: AsyncGenerator[bytes, None],
    query: RegisterQuery,
    progress: RegisterProgress,
    language: Translation,
) -> AsyncGenerator[bytes, None]:
    """Yield the lines of the response.

    A progress line is sent each second while no data arrives, so that no proxy considers the connection dead.
    """
    last = query.end - timedelta(days=1)
    name = f"register-{query.start:%Y-%m-%d}-{last:%Y-%m-%d}.{query.form}"
    yield _line(name=name, type=query.form.media_type)
    mark = "\N{BYTE ORDER MARK}" if query.form is Form.CSV else ""  # without it spreadsheets do not recognise UTF-8
    yield _piece_line(mark.encode() + first, query.form)
    try:
        async with aclosing(pieces):
            while True:
                pending = asyncio.ensure_future(anext(pieces, None))
                try:
                    while not (await asyncio.wait({pending}, timeout=_HEARTBEAT))[0]:
                        yield _line(told=_format_progress(progress, language))
                finally:
                    if not pending.done():
                        pending.cancel()
                        await asyncio.gather(pending, return_exceptions=True)
                piece = pending.result()
                if piece is None:
                    break
                yield _piece_line(piece, query.form, told=_format_progress(progress, language))
    except GatewayError as error:
        log.warning("register.interrupted", error=str(error))
        yield _line(failed=language.gettext(_BROKEN))
        return
    except SheetError as error:
        log.warning("file.not_written", error=str(error))
        yield _line(failed=language.gettext(NO_SPACE))
        return
    message = LazyMessage("Lines saved: %(count)s.", count=progress.total)
    if progress.unreadable:
        message = LazyMessage(
            "Lines saved: %(count)s. Lines that could not be read and were left out: %(lost)s.",
            count=progress.total,
            lost=progress.unreadable,
        )
    yield _line(whole=language.plain_text(message))


def _format_progress(progress: RegisterProgress, language: Translation) -> str:
    if progress.start is None or progress.end is None:
        return ""
    values: dict[str, Value] = {
        "first": language.day(progress.start.date()),
        "last": language.day((progress.end - timedelta(seconds=1)).date()),
        "count": progress.lines,
    }
    if progress.announced is None:
        return language.plain_text(LazyMessage("%(first)s to %(last)s, lines received: %(count)s.", **values))
    return language.plain_text(
        LazyMessage("%(first)s to %(last)s, lines received: %(count)s of %(all)s.", **values, all=progress.announced)
    )


def _piece_line(piece: bytes, form: Form, **more: str) -> bytes:
    text = {"base64": b64encode(piece).decode()} if form is Form.XLSX else {"text": piece.decode()}
    return _line(**text, **more)


def _line(**members: str) -> bytes:
    return (dumps(members) + "\n").encode("ascii")
