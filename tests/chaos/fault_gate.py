"""The gateway's door: what arrives there is compared with the database, and may go wrong in every way there is."""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Any
from uuid import UUID

import httpx2
from fastapi import FastAPI

from app import exact_json
from app.db.aggregates import find_by_order
from app.db.tables import Kind, State
from app.payments.core.balance import in_flight
from app.payments.core.page_cancellation import is_pursued
from app.sandbox.sandbox import Sandbox
from app.sandbox.scripting import FaultRule
from tests.chaos.app_under_test import AppUnderTest
from tests.chaos.roads import serve
from tests.chaos.story import NextCall, Step, Trouble

_KINDS = {
    "payment": Kind.CREATE,
    "purchase": Kind.CREATE,
    "capture": Kind.CAPTURE,
    "void": Kind.VOID,
    "refund": Kind.REFUND,
    "cancel": Kind.CANCEL,
}

# What somebody says in the gateway's place, or the gateway not in its own shape (app.sandbox.faults).
_SAID: dict[Trouble, dict[str, Any]] = {
    Trouble.PROXY: {"moment": "before", "status": 403, "wording": "html"},
    Trouble.DONE_AND_PROXY: {"moment": "after", "status": 403, "wording": "html"},
    Trouble.DONE_AND_EMPTY: {"moment": "after", "status": 400, "wording": "empty"},
    Trouble.DONE_AND_OTHER: {"moment": "after", "status": 404, "wording": "other"},
    Trouble.DONE_UNDER_400: {"moment": "after", "status": 400, "wording": "record"},
    Trouble.MOVED: {"moment": "before", "status": 307, "wording": "empty"},
}


class FaultGate:
    """``calls`` and ``polls`` say what becomes of the next calls that move money, and of the next look-ups.

    ``ours`` are the operations at the gateway that our calls have made; all others are somebody else's. ``wrong`` holds
    what was seen to be wrong while a call was under way, where nobody could be told.
    """

    def __init__(self, application: FastAPI, sandbox: Sandbox, app: AppUnderTest, tell: Callable[[str], None]) -> None:
        self._application = application
        self._sandbox = sandbox
        self._app = app
        self._tell = tell
        self.meanwhile: Callable[[Step], Awaitable[None]] | None = None
        self.calls: deque[NextCall] = deque()
        self.polls: deque[NextCall] = deque()
        self.ours: set[UUID] = set()
        self.sent: set[tuple[int | None, str]] = set()
        self.shown_open: set[str] = set()
        self.wrong: list[AssertionError] = []

    def forget(self) -> None:
        """Begin anew."""
        for each in (self.calls, self.polls, self.ours, self.sent, self.shown_open, self.wrong):
            each.clear()

    async def answer(self, request: httpx2.Request) -> httpx2.Response:
        """Take a call. Raises as a broken connection would."""
        moves = request.method == "POST"
        self._sandbox.catch_up()
        waiting = self.calls if moves else self.polls
        incident = waiting.popleft() if waiting else NextCall()
        if moves and incident.trouble is not Trouble.NOT_SENT:
            await self._compare_with_the_ledger(request)
        if moves or incident.trouble or incident.meanwhile:
            self._tell(
                f"the gateway is called: {_what(request)}; {incident.trouble.value if incident.trouble else 'ok'}"
            )
        if not incident.late:
            await self._play_meanwhile(incident)
        undone = await self._before(incident.trouble, request)
        if undone is not None:
            return undone
        if incident.trouble in _SAID:
            rule = {"effect": "status"} | _SAID[incident.trouble]
            self._sandbox.rules.faults.append(FaultRule.model_validate(rule))
        response = await self._done(request)
        if incident.late:
            await self._play_meanwhile(incident)
        answer = await self._after(incident.trouble, response)
        if not moves and any(each.get("status") == "init" for each in _records(answer)):
            self.shown_open.add(request.url.path.rpartition("/")[2])
        return answer

    async def _before(self, trouble: Trouble | None, request: httpx2.Request) -> httpx2.Response | None:
        """What keeps a call from being done."""
        match trouble:
            case Trouble.NOT_SENT:
                raise httpx2.ConnectError("no connection")
            case Trouble.LOST:
                raise httpx2.ReadTimeout("lost on its way")
            case Trouble.FAILED:
                return httpx2.Response(503, request=request)
            case Trouble.REFUSED:
                said = exact_json.dumps({"message": "Too many requests", "args": {"code": "P-429"}}).encode()
                return httpx2.Response(429, content=said, request=request)
            case Trouble.WE_DIE_BEFORE:
                await self._the_end()
        return None

    async def _after(self, trouble: Trouble | None, response: httpx2.Response) -> httpx2.Response:
        """What becomes of the answer."""
        match trouble:
            case Trouble.ANSWER_LOST:
                raise httpx2.ReadTimeout("the answer is lost")
            case Trouble.DONE_AND_FAILED:
                return httpx2.Response(500, content=b"<html>oops</html>", request=response.request)
            case Trouble.GARBLED:
                return httpx2.Response(200, content=b'{"payment_id": "0b5e', request=response.request)
            case Trouble.WE_DIE_AFTER:
                await self._the_end()
        return response

    async def _done(self, request: httpx2.Request) -> httpx2.Response:
        self._sandbox.catch_up()
        before = set(self._sandbox.state.operations)
        response = await serve(self._application, request)
        self.ours |= self._sandbox.state.operations.keys() - before
        if request.method == "POST":
            self._tell(f"the gateway has answered {response.status_code}")
        return response

    async def _play_meanwhile(self, incident: NextCall) -> None:
        if incident.meanwhile is not None and self.meanwhile is not None:
            await self.meanwhile(incident.meanwhile)

    async def _the_end(self) -> None:
        self._app.die()
        await asyncio.Event().wait()  # cancelled with everything else

    async def _compare_with_the_ledger(self, request: httpx2.Request) -> None:
        """Laws 1 to 3, looked at when the call arrives: it is written down, alone, and was never sent before."""
        kind, order_id = _KINDS[request.url.path.rpartition("/")[2]], _order_id(request)
        async with self._app.services.database.transaction() as session:
            aggregate = await find_by_order(session, order_id)
        try:
            assert aggregate is not None, f"{kind} of an order that is not in the database"
            under_way = [aggregate.create] if kind is Kind.CREATE else [o for o in aggregate.operations if in_flight(o)]
            # What becomes of a page is the outcome of its closing, and can be learnt while the call is on its way.
            ended = (
                kind is Kind.CANCEL
                and aggregate.create.state.final
                and any(o.kind is kind for o in aggregate.operations)
            )
            alone = [(o.kind, o.state) for o in under_way] == [(kind, State.INTENT)]
            assert alone or (ended and not under_way), f"{kind} is not alone: {under_way}"
            # The closing of a page that must not be paid moves nothing, and is asked for again when a look-up has shown
            # that the page is still open (laws of money, 12).
            again = kind is Kind.CANCEL and not ended and is_pursued(under_way[0]) and order_id in self.shown_open
            assert again or (under_way[0].id, order_id) not in self.sent, f"{kind} is sent a second time"
            self.sent.add((under_way[0].id, order_id))
            self.shown_open.discard(order_id)
        except AssertionError as wrong:
            self.wrong.append(wrong)


def _records(response: httpx2.Response) -> list[dict[str, Any]]:
    if response.status_code != 200:
        return []
    try:
        shown = exact_json.loads(response.content)
    except ValueError:  # garbled
        return []
    return [each for each in shown if isinstance(each, dict)] if isinstance(shown, list) else []


def _order_id(request: httpx2.Request) -> str:
    if request.url.path.endswith("/cancel"):
        return request.url.path.split("/")[-2]
    return str(exact_json.loads(request.content)["order_id"])


def _what(request: httpx2.Request) -> str:
    if request.method == "GET":
        return "look-up"
    members = exact_json.loads(request.content) if request.content else {}
    amount = next((members[name] for name in ("amount", "charge_amount", "refund_amount") if name in members), "")
    return f"{request.url.path.rpartition('/')[2]} {amount}".rstrip()
