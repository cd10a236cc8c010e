"""A connection breaks in a commit, or a lock is held: what can be read is read, and others do not wait for it."""

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any

import pytest
from sqlalchemy.exc import OperationalError
from sqlmodel import select
from sqlmodel.ext.asyncio.session import AsyncSession

from app.core.payment import Operation, Payment
from app.core.vocabulary import Kind, State
from app.flows.initialize import initialize
from app.store.database import Database, create_engine, is_sqlite
from app.store.errors import CommitUnknownError
from app.store.payment_rows import StoredPayment, write
from app.store.tables import SaleorEvent
from integration_base_tests.loopback import json_reply
from integration_base_tests.waiting import unless_it_hangs
from saleor_app_sdk.events import TransactionInitializeSession
from tests.db.rows import load_by_transaction
from tests.payments.fake_gateway import action_of, operation
from tests.payments.fake_saleor import amounts
from tests.payments.shop import Shop, session_event, source_object
from tests.payments.test_at_once import held_up, queue_for_the_lock


@pytest.fixture
def breaks(monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[str]]:
    """Give a function that lets the connection break once: in the commit of a transaction that writes such a row.

    ``written``: whether the commit was made nevertheless.
    """

    def break_it(kind: type[Payment | Operation], state: State | None = None, *, written: bool) -> list[str]:
        original = Database.transaction
        broken: list[str] = []
        written_in: dict[AsyncSession, list[Payment | Operation]] = defaultdict(list)

        async def write_and_note(session: AsyncSession, payments: Sequence[StoredPayment]) -> None:
            await write(session, payments)
            for stored in payments:
                written_in[session] += [stored.payment, *stored.operations]

        monkeypatch.setattr("app.store.aggregates.write", write_and_note)

        def is_it(session: AsyncSession) -> bool:
            parts = [part for part in written_in[session] if isinstance(part, kind)]
            return any(state is None or getattr(part, "state", None) is state for part in parts)

        @asynccontextmanager
        async def transaction(self: Database) -> AsyncIterator[AsyncSession]:
            try:
                async with original(self) as session:
                    yield session
                    await session.flush()
                    breaking = not broken and is_it(session)
                    if breaking and not written:
                        broken.append("undone")
                        raise _UndoneError  # noqa: TRY301 - so that the block is undone
            except _UndoneError:
                breaking = True
            if breaking:
                broken.append("broken")
                raise CommitUnknownError("COMMIT") from OperationalError("COMMIT", {}, ConnectionResetError())

        monkeypatch.setattr(Database, "transaction", transaction)
        return broken

    return break_it


class _UndoneError(Exception):
    pass


@pytest.mark.parametrize("written", [True, False])
class TestACommitOfWhichNobodyKnows:
    async def test_of_the_intent_of_a_page(
        self, shop: Shop, breaks: Callable[..., list[str]], *, written: bool
    ) -> None:
        """It is there or it is not: in both cases the gateway is asked, once, and the shopper has a page."""
        broken = breaks(Payment, written=written)
        shop.gateway.will_answer(shop.gateway.page())
        answer = await shop.begin()
        assert broken
        assert shop.gateway.calls == ["payment"]
        assert "checkoutUrl" in answer.data
        assert await shop.begin() == answer

    async def test_of_what_came_of_it(self, shop: Shop, breaks: Callable[..., list[str]], *, written: bool) -> None:
        broken = breaks(Operation, State.INIT, written=written)
        shop.gateway.will_answer(shop.gateway.page())
        answer = await shop.begin()
        assert broken
        assert "checkoutUrl" in answer.data
        async with shop.services.database.transaction() as session:
            assert len((await session.exec(select(SaleorEvent))).all()) == 1

    @pytest.mark.fault("commit-unknown")
    async def test_of_the_intent_of_a_refund(
        self, paid_shop: Shop, breaks: Callable[..., list[str]], *, written: bool
    ) -> None:
        broken = breaks(Operation, State.INTENT, written=written)
        paid_shop.gateway.will_answer(
            json_reply(operation("refund", paid_shop.order_id, "100.00", operation_id="refund-1"))
        )
        answer = await paid_shop.request_action("REFUND", "100.00")
        assert broken
        assert (answer.result, answer.psp_reference) == ("REFUND_SUCCESS", "refund-1")
        assert paid_shop.gateway.calls == ["refund"]
        await paid_shop.pass_time(minutes=30)
        assert paid_shop.amounts == amounts(charged="469.50", refunded="100.00")

    @pytest.mark.fault("commit-unknown")
    async def test_of_what_came_of_a_refund(
        self, paid_shop: Shop, breaks: Callable[..., list[str]], *, written: bool
    ) -> None:
        paid_shop.gateway.will_answer(
            json_reply(operation("refund", paid_shop.order_id, "100.00", operation_id="refund-1"))
        )
        original = paid_shop.gateway.on_request
        broken: list[list[str]] = []

        async def arrives(heard: Any) -> None:
            broken.append(breaks(Operation, State.SUCCESS, written=written))

        paid_shop.gateway.on_request = arrives
        answer = await paid_shop.request_action("REFUND", "100.00")
        paid_shop.gateway.on_request = original
        assert broken[0]
        assert (answer.result, answer.psp_reference) == ("REFUND_SUCCESS", "refund-1")
        await paid_shop.pass_time(minutes=30)
        assert paid_shop.amounts == amounts(charged="469.50", refunded="100.00")
        assert (
            len([operation for operation in (await paid_shop.aggregate()).operations if operation.kind is Kind.REFUND])
            == 1
        )


@pytest.mark.fault("commit-unknown")
async def test_another_delivery_of_the_same_webhook_is_not_taken_for_this_one(
    shop: Shop, second_process: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its commit was not made, and the other's was, and is at the gateway: the page is asked for once."""
    group_commit = shop.services.database.group_commit
    broken: list[object] = []

    async def breaks(write: Any, job: Any) -> Any:
        if not broken:
            broken.append(job.build())  # as it was about to be written
            raise CommitUnknownError("COMMIT")
        return await group_commit(write, job)

    shop.gateway.will_answer(shop.gateway.page())
    async with held_up(second_process, "payment", second_process.begin()) as beginning:
        shop.clock.forward(seconds=1)
        monkeypatch.setattr(shop.services.database, "group_commit", breaks)
        async with asyncio.timeout(8):
            answer = await shop.begin()
        assert "checkoutUrl" not in (answer.data or {})
        assert shop.gateway.calls == ["payment"]
    assert "checkoutUrl" in beginning.result().data
    assert shop.gateway.calls == ["payment"]


@pytest.mark.fault("commit-unknown")
@pytest.mark.law(1, 2)
async def test_an_intent_that_was_concluded_before_anybody_knew_of_its_commit_is_not_sent(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It took so long to find out that the page was given up meanwhile, as if the process had died."""
    group_commit = shop.services.database.group_commit
    broken: list[object] = []

    async def breaks(write: Any, job: Any) -> Any:
        done = await group_commit(write, job)
        if not broken:
            broken.append(done)
            await shop.pass_time(seconds=16)
            raise CommitUnknownError("COMMIT")
        return done

    monkeypatch.setattr(shop.services.database, "group_commit", breaks)
    answer = await shop.begin()
    assert answer.data["errors"][0]["code"] == "TRY_AGAIN"
    assert shop.gateway.calls == []


@pytest.mark.fault("database-slow")
async def test_one_locked_payment_does_not_hold_up_others(shop: Shop, database_url: str) -> None:
    """Outcomes are committed together, and one of them waits for a lock that another process has."""
    if is_sqlite(database_url):
        pytest.skip("SQLite has one connection")
    shop.gateway.will_answer(shop.gateway.page("one"), shop.gateway.page("two"))
    holder = Database(create_engine(database_url))
    locked = asyncio.Event()
    first = None
    try:
        async with holder.transaction() as session, unless_it_hangs():

            async def lock(heard: Any) -> None:
                if action_of(heard) == "payment" and not locked.is_set():
                    await load_by_transaction(session, shop.installation.id, shop.transaction.id)
                    locked.set()

            shop.gateway.on_request = lock
            first = asyncio.create_task(shop.begin())
            await locked.wait()
            await queue_for_the_lock(holder, 1)
            other = shop.saleor.new_transaction()
            event = TransactionInitializeSession.model_validate(
                session_event(other.id, sourceObject=source_object(id="Q2hlY2tvdXQ6Mg=="))
            )
            answer = await initialize(shop.services, event, shop.installation)
            assert not first.done()
    finally:
        await holder.close()
        if first is not None:
            assert "checkoutUrl" in (await first).data
    assert "checkoutUrl" in answer.data
