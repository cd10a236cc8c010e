"""The entrance of the gateway: compares each request with the database, and injects every kind of fault."""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Any
from uuid import UUID

import httpx2
from fastapi import FastAPI

from app.core.vocabulary import Kind, State
from app.rules.balance import is_in_flight
from app.rules.page_cancellation import is_retried_until_confirmed
from app.store.aggregates import find_by_order
from gateway_client.sandbox.sandbox import Sandbox
from gateway_client.sandbox.scripting import FaultRule
from integration_base import exact_json
from tests.chaos.app_under_test import AppUnderTest
from tests.chaos.story import Fault, NextCall, Step
from tests.chaos.transport import serve

_KINDS = {
    "payment": Kind.CREATE,
    "purchase": Kind.CREATE,
    "capture": Kind.CAPTURE,
    "void": Kind.VOID,
    "refund": Kind.REFUND,
    "cancel": Kind.CANCEL,
}

# Answers of others in the gateway's place, or of the gateway in a foreign format (gateway_client.sandbox.faults).
_FOREIGN_ANSWERS: dict[Fault, dict[str, Any]] = {
    Fault.PROXY: {"moment": "before", "status": 403, "wording": "html"},
    Fault.DONE_AND_PROXY: {"moment": "after", "status": 403, "wording": "html"},
    Fault.DONE_AND_EMPTY: {"moment": "after", "status": 400, "wording": "empty"},
    Fault.DONE_AND_OTHER: {"moment": "after", "status": 404, "wording": "other"},
    Fault.DONE_UNDER_400: {"moment": "after", "status": 400, "wording": "record"},
    Fault.MOVED: {"moment": "before", "status": 307, "wording": "empty"},
}


class FaultGate:
    """``calls`` and ``polls`` script the fate of the next calls that move money, and of the next look-ups.

    ``ours`` are the operations at the gateway that our calls have created; all others belong to somebody else.
    ``violations`` holds those found while a call was in progress, where they could not be raised.
    """

    def __init__(self, application: FastAPI, sandbox: Sandbox, app: AppUnderTest, log: Callable[[str], None]) -> None:
        self._application = application
        self._sandbox = sandbox
        self._app = app
        self._log = log
        self.perform: Callable[[Step], Awaitable[None]] | None = None
        self.calls: deque[NextCall] = deque()
        self.polls: deque[NextCall] = deque()
        self.ours: set[UUID] = set()
        self.sent: set[tuple[int | None, str]] = set()
        self.seen_open: set[str] = set()
        self.violations: list[AssertionError] = []

    def reset(self) -> None:
        """Reset all scripts and records."""
        for kept in (self.calls, self.polls, self.ours, self.sent, self.seen_open, self.violations):
            kept.clear()

    async def answer(self, request: httpx2.Request) -> httpx2.Response:
        """Answer a call. Raises as a broken connection would."""
        moves = request.method == "POST"
        self._sandbox.catch_up()
        waiting = self.calls if moves else self.polls
        incident = waiting.popleft() if waiting else NextCall()
        if moves and incident.fault is not Fault.NOT_SENT:
            await self._check_recorded(request)
        if moves or incident.fault or incident.meanwhile:
            self._log(
                f"the gateway is called: {_describe(request)}; {incident.fault.value if incident.fault else 'ok'}"
            )
        if not incident.late:
            await self._perform_meanwhile(incident)
        undone = await self._before(incident.fault, request)
        if undone is not None:
            return undone
        if incident.fault in _FOREIGN_ANSWERS:
            rule = {"effect": "status"} | _FOREIGN_ANSWERS[incident.fault]
            self._sandbox.rules.faults.append(FaultRule.model_validate(rule))
        response = await self._done(request)
        if incident.late:
            await self._perform_meanwhile(incident)
        answer = await self._after(incident.fault, response)
        if not moves and any(record.get("status") == "init" for record in _records(answer)):
            self.seen_open.add(request.url.path.rpartition("/")[2])
        return answer

    async def _before(self, fault: Fault | None, request: httpx2.Request) -> httpx2.Response | None:
        """Apply the faults that keep a call from being executed."""
        match fault:
            case Fault.NOT_SENT:
                raise httpx2.ConnectError("no connection")
            case Fault.LOST:
                raise httpx2.ReadTimeout("lost on its way")
            case Fault.FAILED:
                return httpx2.Response(503, request=request)
            case Fault.REFUSED:
                said = exact_json.dumps({"message": "Too many requests", "args": {"code": "P-429"}}).encode()
                return httpx2.Response(429, content=said, request=request)
            case Fault.WE_DIE_BEFORE:
                await self._die()
        return None

    async def _after(self, fault: Fault | None, response: httpx2.Response) -> httpx2.Response:
        """Apply the faults that happen to the answer."""
        match fault:
            case Fault.ANSWER_LOST:
                raise httpx2.ReadTimeout("the answer is lost")
            case Fault.DONE_AND_FAILED:
                return httpx2.Response(500, content=b"<html>oops</html>", request=response.request)
            case Fault.GARBLED:
                return httpx2.Response(200, content=b'{"payment_id": "0b5e', request=response.request)
            case Fault.WE_DIE_AFTER:
                await self._die()
        return response

    async def _done(self, request: httpx2.Request) -> httpx2.Response:
        self._sandbox.catch_up()
        before = set(self._sandbox.state.operations)
        response = await serve(self._application, request)
        self.ours |= self._sandbox.state.operations.keys() - before
        if request.method == "POST":
            self._log(f"the gateway has answered {response.status_code}")
        return response

    async def _perform_meanwhile(self, incident: NextCall) -> None:
        if incident.meanwhile is not None and self.perform is not None:
            await self.perform(incident.meanwhile)

    async def _die(self) -> None:
        self._app.die()
        await asyncio.Event().wait()  # cancelled with everything else

    async def _check_recorded(self, request: httpx2.Request) -> None:
        """Check laws 1 to 3 when the call arrives: it is recorded, the only one in flight, and never sent before."""
        kind, order_id = _KINDS[request.url.path.rpartition("/")[2]], _order_id(request)
        async with self._app.services.database.transaction() as session:
            aggregate = await find_by_order(session, order_id)
        try:
            assert aggregate is not None, f"{kind} of an order that is not in the database"
            under_way = (
                [aggregate.create] if kind is Kind.CREATE else [o for o in aggregate.operations if is_in_flight(o)]
            )
            # The outcome of a page is the outcome of closing it, and can become known while the call is on its way.
            ended = (
                kind is Kind.CANCEL
                and aggregate.create.state.final
                and any(o.kind is kind for o in aggregate.operations)
            )
            alone = [(o.kind, o.state) for o in under_way] == [(kind, State.INTENT)]
            assert alone or (ended and not under_way), f"{kind} is not alone: {under_way}"
            # Closing a page that must not be paid moves no money, and is requested again when a look-up has shown
            # that the page is still open (laws of money, 12).
            again = (
                kind is Kind.CANCEL
                and not ended
                and is_retried_until_confirmed(under_way[0])
                and order_id in self.seen_open
            )
            assert again or (under_way[0].id, order_id) not in self.sent, f"{kind} is sent a second time"
            self.sent.add((under_way[0].id, order_id))
            self.seen_open.discard(order_id)
        except AssertionError as wrong:
            self.violations.append(wrong)


def _records(response: httpx2.Response) -> list[dict[str, Any]]:
    if response.status_code != 200:
        return []
    try:
        shown = exact_json.loads(response.content)
    except ValueError:  # garbled
        return []
    return [record for record in shown if isinstance(record, dict)] if isinstance(shown, list) else []


def _order_id(request: httpx2.Request) -> str:
    if request.url.path.endswith("/cancel"):
        return request.url.path.split("/")[-2]
    return str(exact_json.loads(request.content)["order_id"])


def _describe(request: httpx2.Request) -> str:
    if request.method == "GET":
        return "look-up"
    members = exact_json.loads(request.content) if request.content else {}
    amount = next((members[name] for name in ("amount", "charge_amount", "refund_amount") if name in members), "")
    return f"{request.url.path.rpartition('/')[2]} {amount}".rstrip()
