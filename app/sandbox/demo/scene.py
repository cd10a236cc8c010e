"""What all steps of a story need: to say what must be true, to wait until it is, to type commands."""

import asyncio
import shlex
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any, TypeVar

from app.saleor.testing.views import TransactionView
from app.sandbox.demo.command_line import Typed
from app.sandbox.demo.stage import Stage
from app.sandbox.demo.telling import Exchange, Party

T = TypeVar("T")

_EVENTUALLY = 30.0
_FINAL = ("_SUCCESS", "_FAILURE")


class NotRightError(Exception):
    """Something that must be true is not. ``log`` are the last words of whoever may know why."""

    def __init__(self, expected: str, found: str, log_name: str = "", log: Sequence[str] = ()) -> None:
        super().__init__(f"{expected}: {found}")
        self.expected = expected
        self.found = found
        self.log_name = log_name
        self.log = tuple(log)


class Scene:
    """A stage, and how much of what was seen on it was right."""

    def __init__(self, stage: Stage) -> None:
        self.stage = stage
        self.checks = 0

    def right(self, what: str) -> None:
        """Something was found to be right."""
        self.checks += 1
        self.stage.teller.check(what)

    def must(self, what: str, true: bool, found: object, *, log: tuple[str, Sequence[str]] = ("", ())) -> None:
        """Tell that something is right, and that it was looked at. Raises NotRightError with what was ``found``."""
        self.only_if(true, what, found, log)
        self.right(what)

    def only_if(self, true: bool, what: str, found: object, log: tuple[str, Sequence[str]] = ("", ())) -> None:
        """Go on only if something goes without saying. Raises NotRightError."""
        if not true:
            raise NotRightError(what, str(found), *log)

    async def eventually(self, what: str, true: Callable[[], Awaitable[T | None]]) -> T:
        """Wait until something holds, and return what it gave. Raises NotRightError when it takes too long."""
        loop = asyncio.get_running_loop()
        end = loop.time() + _EVENTUALLY
        with self.stage.teller.waiting(f"Waiting: {what}"):
            while not (found := await true()):
                if loop.time() > end:
                    raise NotRightError(what, f"not within {_EVENTUALLY:.0f} s")
                await asyncio.sleep(0.05)
        return found

    async def transaction(self, transaction_id: str) -> TransactionView:
        """A transaction as Saleor knows it now."""
        return await self.stage.saleor.transaction(transaction_id)

    async def told(self, transaction_id: str, event: str) -> TransactionView:
        """Wait until Saleor has heard of an event."""

        async def heard() -> TransactionView | None:
            transaction = await self.transaction(transaction_id)
            return transaction if event in transaction.types() else None

        return await self.eventually(f"Saleor hears {event}", heard)

    async def quiet(self) -> None:
        """Wait until nobody has anything left to say, and everything that was said is told."""
        stage = self.stage
        await stage.saleor.background_done()
        await stage.gateway.webhooks_idle()

        async def all_reported() -> bool:
            reported = {
                (each.arguments["type"], each.arguments["pspReference"]) for each in await stage.saleor.reports()
            }
            return all(
                (event.type.value, event.psp_reference) in reported
                for transaction in await stage.saleor.transactions()
                for event in transaction.events
                if event.type.value.endswith(_FINAL)
            )

        await self.eventually("the app has told Saleor everything", all_reported)
        await stage.watcher.catch_up()

    def says(self, speaker: Party, hearer: Party, said: str) -> AbstractAsyncContextManager[Exchange]:
        """Note what somebody says for as long as the context is open; what comes back is filled in there."""
        return self.stage.watcher.exchange(speaker, hearer, said)

    async def type(self, *words: str) -> Typed:
        """Type a command of the app."""
        shown = shlex.join(word for word in words if word != "--json")
        async with self.says(Party.OPERATOR, Party.APP, f"$ saleor-gateway {shown}") as noted:
            typed = await self.stage.type(*words)
            noted.answer, noted.failed = ("done", False) if typed.status == 0 else (f"status {typed.status}", True)
        return typed

    def read(self, typed: Typed) -> Any:
        """What a command answered in JSON. Raises NotRightError, with its complaint, when it did not."""
        try:
            return typed.json()
        except ValueError:
            raise NotRightError("the command works", f"it ends with status {typed.status}", *said(typed)) from None


def said(typed: Typed) -> tuple[str, Sequence[str]]:
    """The last words of a command, in place of a log."""
    return typed.name, [*typed.output.splitlines(), *typed.complaints.splitlines()][-12:]
