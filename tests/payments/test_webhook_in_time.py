"""Saleor hears in time and truly, also when another process holds the payment's lock (laws of money, 2 and 11)."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import timedelta
from typing import Any, NoReturn

import pytest

from app.core.vocabulary import Kind, State
from app.flows.initialize import initialize
from app.store.database import Database, create_engine, is_sqlite
from app.store.errors import DatabaseUnavailableError
from integration_base.outbound import Deadline
from integration_base_tests.loopback import Silence, json_reply
from saleor_app_sdk import webhooks
from saleor_app_sdk.app import SaleorApp
from saleor_app_sdk.events import TransactionInitializeSession
from saleor_app_sdk.webhook_definition import WebhookContext
from tests.db.rows import load_by_transaction
from tests.payments.fake_gateway import operation
from tests.payments.fake_saleor import amounts
from tests.payments.shop import Shop, action_event, session_event
from tests.payments.test_webhooks import app_of

pytestmark = pytest.mark.law(2, 11)


@pytest.fixture
def app(shop: Shop) -> SaleorApp:
    return app_of(shop)


@pytest.fixture
def answered(shop: Shop, app: SaleorApp, monkeypatch: pytest.MonkeyPatch) -> Callable[[Any], Awaitable[dict[str, Any]]]:
    """Give what answers an event of which the checks have left half a second."""
    monkeypatch.setattr(webhooks, "GRACE_PERIOD", timedelta(seconds=0.2))

    async def answer(event: Any) -> dict[str, Any]:
        context = WebhookContext(shop.installation, shop.clock.now, "3.23.28", Deadline(0.5))
        reply = await app._receiver._respond(app._webhooks[event.event_type], event, context)
        return dict(json.loads(reply.body))

    return answer


@pytest.fixture
async def lock(shop: Shop, database_url: str) -> AsyncIterator[Callable[[], Any]]:
    """Give what holds the payment's lock in another process."""
    if is_sqlite(database_url):
        pytest.skip("SQLite has one connection")
    holder = Database(create_engine(database_url))

    @asynccontextmanager
    async def held() -> AsyncIterator[None]:
        async with holder.transaction() as session:
            assert await load_by_transaction(session, shop.installation.id, shop.transaction.id) is not None
            yield

    yield held
    await holder.close()


@pytest.mark.fault("database-slow")
async def test_what_cannot_be_recorded_in_time_is_refused_and_never_sent(
    paid_shop: Shop, lock: Callable[[], Any], answered: Callable[[Any], Awaitable[dict[str, Any]]]
) -> None:
    """Staff ask again after a failure: what they were told had failed must not begin behind their back."""
    async with lock():
        answer = await answered(action_event(paid_shop.transaction.id, "REFUND", "100.00", "one"))
    assert answer["result"] == "REFUND_FAILURE"
    await paid_shop.pass_time(minutes=30)
    assert paid_shop.gateway.calls == []
    assert [operation.kind for operation in (await paid_shop.aggregate()).operations] == [Kind.CREATE]


@pytest.mark.fault("database-slow")
async def test_what_was_sent_is_pending_if_its_outcome_cannot_be_recorded_in_time(
    paid_shop: Shop, app: SaleorApp, lock: Callable[[], Any], answered: Callable[[Any], Awaitable[dict[str, Any]]]
) -> None:
    held = lock()
    paid_shop.gateway.will_answer(
        json_reply(operation("refund", paid_shop.order_id, "100.00", operation_id="refund-1"))
    )

    async def arrives(_: Any) -> None:
        await held.__aenter__()

    paid_shop.gateway.on_request = arrives
    answer = await answered(action_event(paid_shop.transaction.id, "REFUND", "100.00", "one"))
    paid_shop.gateway.on_request = None
    assert list(answer) == ["pspReference"], "it may be refunded: it has not failed"
    await held.__aexit__(None, None, None)
    await asyncio.gather(*app._receiver._running_handlers)
    assert paid_shop.gateway.calls == ["refund"]
    assert str((await paid_shop.operation(Kind.REFUND)).amount) == "100.00"


@pytest.mark.fault("database-away")
async def test_what_was_sent_is_pending_if_the_database_is_away_when_the_gateway_has_answered(
    paid_shop: Shop, answered: Callable[[Any], Awaitable[dict[str, Any]]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither the outcome can be written nor the intent read: a failure would invite staff to refund once more."""
    paid_shop.gateway.will_answer(
        json_reply(operation("refund", paid_shop.order_id, "100.00", operation_id="refund-1"))
    )
    here = Database.transaction

    async def goes(_: Any) -> None:
        def away(_: Database) -> NoReturn:
            raise DatabaseUnavailableError("gone")

        monkeypatch.setattr(Database, "transaction", away)

    paid_shop.gateway.on_request = goes
    answer = await answered(action_event(paid_shop.transaction.id, "REFUND", "100.00", "one"))
    paid_shop.gateway.on_request = None
    monkeypatch.setattr(Database, "transaction", here)
    assert list(answer) == ["pspReference"], "it was refunded: it has not failed"
    assert (await paid_shop.operation(Kind.REFUND)).state is State.INTENT
    paid_shop.record_refund("100.00", "refund-1")
    await paid_shop.pass_time(minutes=1)
    assert (await paid_shop.operation(Kind.REFUND)).state is State.SUCCESS
    assert paid_shop.gateway.calls == ["refund"]


async def test_a_session_that_waits_for_a_lock_is_not_over(
    shop: Shop, lock: Callable[[], Any], answered: Callable[[Any], Awaitable[dict[str, Any]]]
) -> None:
    shop.gateway.will_answer(shop.gateway.page())
    await shop.begin()
    async with lock():
        event = TransactionInitializeSession.model_validate(session_event(shop.transaction.id))
        answer = await answered(event)
    assert answer["result"] == "CHARGE_ACTION_REQUIRED"
    assert shop.gateway.calls == ["payment"]
    assert shop.amounts == amounts()


async def test_a_page_is_waited_for_as_long_as_the_checks_have_left_time(shop: Shop) -> None:
    """However long a gateway may be waited for otherwise: an hour would be the time-out of this test."""
    await shop.services.gateways.client(shop.account).get_order(
        "0", timeout=10
    )  # so that nothing but the answer is slow
    patient = replace(shop.services, schedule=replace(shop.services.schedule, budget=timedelta(hours=1)))
    event = TransactionInitializeSession.model_validate(session_event(shop.transaction.id))
    shop.gateway.will_answer(Silence())
    answer = await initialize(patient, event, shop.installation, Deadline(1.5))
    assert answer.data["errors"][0]["code"] == "TRY_AGAIN"
    assert shop.gateway.calls == ["payment"]


async def test_a_payment_that_cannot_be_recorded_in_time_is_not_asked_for(
    shop: Shop, answered: Callable[[Any], Awaitable[dict[str, Any]]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Saleor is told that it failed, and its shopper begins anew: nothing may be begun behind that."""
    written = asyncio.Event()
    group_commit, found = shop.services.database.group_commit, list[Any]()

    async def slow(write: Any, job: Any) -> Any:
        if not written.is_set() and not found:
            found.append(job)
            await written.wait()
        return await group_commit(write, job)

    monkeypatch.setattr(shop.services.database, "group_commit", slow)
    event = TransactionInitializeSession.model_validate(session_event(shop.transaction.id))
    answer = await answered(event)
    assert answer["result"] == "CHARGE_FAILURE"
    written.set()
    await shop.work()
    assert shop.gateway.calls == []
    assert await shop.find_aggregate() is None
