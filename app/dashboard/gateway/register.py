"""The page from which staff download the gateway's register: any period, in pieces, with how far it is.

The answer to the form is a list of JSON objects, one a line: pieces of the file, and what is to be told between them.
Only the last line says that the file is whole; the page saves nothing without it. So a download that breaks off
anywhere, at the gateway, here or on the way, is never taken for a register.
"""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import aclosing, suppress
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from enum import StrEnum
from typing import TypeVar

import structlog
from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, StreamingResponse

from app.dashboard.form import fields_of
from app.dashboard.navigation import BALANCES
from app.dashboard.renderer import Renderer
from app.dashboard.staff import AnyStaff, Staff, refused
from app.db.tables import MerchantAccount
from app.exact_json import dumps
from app.gateway.errors import GatewayError
from app.gateway.models import Method, Status
from app.gateway.models.reports import Detail
from app.i18n.messages import LazyMessage, Value, gettext_noop
from app.i18n.translation import Translation
from app.payments.accounts.areas import Area, finding_of
from app.payments.operations.look_up import opened
from app.payments.services import Services
from app.payments.staff.register import USUAL_FIELDS, Form, RegisterProgress, RegisterQuery, register_pieces

log = structlog.get_logger(__name__)

W = TypeVar("W", bound=StrEnum)

REGISTER = "/register"
MOST_AT_ONCE = 4
"""Downloads of all stores that one process makes at once: each keeps a connection to a gateway for long."""

_BETWEEN_WORDS = 1.0  # seconds after which it is told that nothing has come yet
_LONGEST = timedelta(days=3660)
_FIRST_DAY, _LAST_DAY = date(2000, 1, 1), date(2099, 12, 31)

_NO_ACCOUNT = gettext_noop("This store has no such merchant account.")
_NO_DAY = gettext_noop("Write a day of this century like 2026-11-21.")
_BACKWARDS = gettext_noop("The last day is before the first.")
_TOO_LONG = gettext_noop("At most ten years can be downloaded at once.")
_NOT_OFFERED = gettext_noop("This is none of those that can be chosen: reload the page.")
_NOT_RIGHT = gettext_noop("Something in the form is not right: see beside the fields.")
_TOO_MANY = gettext_noop("Too many registers are being downloaded at this moment. Try again in a few minutes.")
_BROKEN = gettext_noop("The register broke off, and nothing was saved: the gateway did not give all of it. Try again.")


class WrongFormError(Exception):
    """What a form says cannot be; ``fields`` are those that are not right, with what is said beside each."""

    def __init__(self, fields: dict[str, str]) -> None:
        super().__init__(", ".join(fields))
        self.fields = fields


@dataclass(frozen=True, slots=True)
class Asked:
    """What a form asks for."""

    account: str
    query: RegisterQuery


class RegisterParts:
    """The parts about the register, as ``renderer`` writes them."""

    def __init__(self, services: Services, renderer: Renderer) -> None:
        self._services = services
        self._renderer = renderer
        self._under_way = 0

    def add_to(self, router: APIRouter) -> None:
        """Add the routes to a router, whose guard lets in only whoever may handle payments."""
        router.add_api_route(REGISTER, self._form, methods=["GET"])
        router.add_api_route(f"{REGISTER}/download", self._download, methods=["POST"])

    async def _form(self, staff: AnyStaff) -> HTMLResponse:
        today = self._services.now().astimezone(UTC).date()
        return self._renderer.part(
            "gateway/register.html",
            staff,
            here=BALANCES,
            accounts=await self._services.accounts.all(staff.installation.id),
            first=today.replace(day=1),
            today=today,
            statuses=list(Status),
            methods=list(Method),
            fields=list(Detail),
            usual=USUAL_FIELDS,
        )

    async def _download(self, request: Request, staff: AnyStaff) -> StreamingResponse:
        try:
            asked = read_form(await fields_of(request))
        except WrongFormError as wrong:
            raise refused(422, "INVALID_DATA", staff.translation, _NOT_RIGHT, fields=wrong.fields) from wrong
        account = await self._account(staff, asked.account)
        if self._under_way >= MOST_AT_ONCE:
            raise refused(429, "BUSY", staff.translation, _TOO_MANY)
        self._under_way += 1
        progress = RegisterProgress()
        try:
            pieces = register_pieces(opened(self._services, account), asked.query, progress)
            first = await anext(pieces)
        except GatewayError as error:
            finding = finding_of(Area.REGISTER, error, account.register_url or account.base_url)
            words = LazyMessage("The register cannot be had: %(why)s.", why=finding.why or "")
            log.warning("register not begun", account=account.id, error=str(error))
            raise refused(502, "GATEWAY", staff.translation, words) from error
        finally:
            self._under_way -= 1
        log.info("register downloaded", account=account.id, staff=staff.id)
        lines = _told(first, pieces, asked.query, progress, staff.translation)
        return StreamingResponse(self._counted(lines), media_type="application/x-ndjson")

    async def _counted(self, lines: AsyncGenerator[bytes, None]) -> AsyncIterator[bytes]:
        # Here, and not before: an answer that nobody is there to read any more is never begun, nor ended.
        self._under_way += 1
        try:
            async with aclosing(lines):
                async for line in lines:
                    yield line
        finally:
            self._under_way -= 1

    async def _account(self, staff: Staff, account_id: str) -> MerchantAccount:
        for each in await self._services.accounts.all(staff.installation.id):
            if each.id == account_id:
                return each
        raise refused(404, "UNKNOWN_ACCOUNT", staff.translation, _NO_ACCOUNT)


def read_form(fields: Sequence[tuple[str, str]]) -> Asked:
    """Return what a form asks for. Days are of UTC, both included. Raises WrongFormError with all that is wrong."""
    said = dict(fields)
    wrong: dict[str, str] = {}
    days = {name: _day(said.get(name, "")) for name in ("from", "to")}
    wrong |= {name: _NO_DAY for name, day in days.items() if day is None}
    first, last = days["from"], days["to"]
    if first is not None and last is not None and last < first:
        wrong["to"] = _BACKWARDS
    elif first is not None and last is not None and last - first > _LONGEST:
        wrong["to"] = _TOO_LONG
    statuses = _chosen(fields, "status", Status, wrong)
    methods = _chosen(fields, "method", Method, wrong)
    details = _chosen(fields, "field", Detail, wrong)
    forms = _chosen([("form", said.get("form", Form.CSV.value))], "form", Form, wrong)
    if wrong or first is None or last is None:
        raise WrongFormError(wrong)
    start = datetime.combine(first, time(), UTC)
    end = datetime.combine(last + timedelta(days=1), time(), UTC)
    return Asked(
        said.get("account", ""), RegisterQuery(start, end, statuses, methods, details or USUAL_FIELDS, forms[0])
    )


def _chosen(fields: Sequence[tuple[str, str]], name: str, kind: type[W], wrong: dict[str, str]) -> tuple[W, ...]:
    """Return what was chosen of a kind, each once; what is none of it is put down in ``wrong``."""
    texts = dict.fromkeys(text for each, text in fields if each == name)
    known = {each.value: each for each in kind}
    if any(text not in known for text in texts):
        wrong[name] = _NOT_OFFERED
    return tuple(known[text] for text in texts if text in known)


def _day(text: str) -> date | None:
    with suppress(ValueError):
        day = date.fromisoformat(text) if len(text) == len("2026-11-21") else None
        return day if day is not None and _FIRST_DAY <= day <= _LAST_DAY else None
    return None


async def _told(
    first: str,
    pieces: AsyncGenerator[str, None],
    query: RegisterQuery,
    progress: RegisterProgress,
    language: Translation,
) -> AsyncGenerator[bytes, None]:
    """Give the lines of the answer. Told each second, however long nothing comes: a proxy does not take it for dead."""
    last = query.end - timedelta(days=1)
    name = f"register-{query.start:%Y-%m-%d}-{last:%Y-%m-%d}.{query.form}"
    yield _line(name=name, type="text/csv" if query.form is Form.CSV else "application/x-ndjson")
    mark = "\N{BYTE ORDER MARK}" if query.form is Form.CSV else ""  # else spreadsheets do not take it for UTF-8
    yield _line(text=mark + first)
    try:
        async with aclosing(pieces):
            while True:
                coming = asyncio.ensure_future(anext(pieces, None))
                try:
                    while not (await asyncio.wait({coming}, timeout=_BETWEEN_WORDS))[0]:
                        yield _line(told=_so_far(progress, language))
                finally:
                    if not coming.done():
                        coming.cancel()
                        await asyncio.gather(coming, return_exceptions=True)
                piece = coming.result()
                if piece is None:
                    break
                yield _line(text=piece, told=_so_far(progress, language))
    except GatewayError as error:
        log.warning("register broke off", error=str(error))
        yield _line(failed=language.gettext(_BROKEN))
        return
    words = LazyMessage("%(count)s lines are saved.", count=progress.total)
    if progress.unreadable:
        words = LazyMessage(
            "%(count)s lines are saved. %(lost)s lines could not be read, and are left out.",
            count=progress.total,
            lost=progress.unreadable,
        )
    yield _line(whole=language.say(words))


def _so_far(progress: RegisterProgress, language: Translation) -> str:
    if progress.start is None or progress.end is None:
        return ""
    values: dict[str, Value] = {
        "first": language.day(progress.start.date()),
        "last": language.day((progress.end - timedelta(seconds=1)).date()),
        "count": progress.lines,
    }
    if progress.announced is None:
        return language.say(LazyMessage("%(first)s to %(last)s: %(count)s lines have come.", **values))
    return language.say(
        LazyMessage("%(first)s to %(last)s: %(count)s of %(all)s lines have come.", **values, all=progress.announced)
    )


def _line(**members: str) -> bytes:
    return (dumps(members) + "\n").encode("ascii")
