"""The loop of a worker: claims what is due, rests until it is woken, survives whatever a job does."""

import asyncio
from datetime import datetime
from itertools import pairwise
from typing import Any

import httpx2
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from structlog.testing import capture_logs

from app.bootstrap import MANIFEST
from app.core.vocabulary import Kind, State
from app.rules.problems import problem_text
from app.services import Services
from app.store.job_queue import Claim
from app.store.presence import CHECK_INTERVAL
from app.store.tables import Installation
from app.worker.consumer import Consumer
from app.worker.loop import Worker
from app.worker.presence import check_presence
from integration_base_tests.loopback import HangUp, Silence, json_reply
from saleor_app_sdk.documents import Documents
from saleor_app_sdk.graphql import SaleorClient
from tests.payments.fake_gateway import operation, payment
from tests.payments.fake_saleor import amounts
from tests.payments.shop import SALEOR, TOTAL, Shop
from tests.worker.running_worker import run_worker, wait_until_reported


@pytest.fixture
def no_tick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a resting worker rest until somebody wakes it."""
    monkeypatch.setattr("app.worker.loop._TICK_SECONDS", 3600)


@pytest.mark.usefixtures("no_tick")
async def test_whoever_leaves_work_wakes_the_worker(shop: Shop) -> None:
    """From the gateway's notification to Saleor's books nobody waits for a tick."""
    shop.gateway.will_answer(shop.gateway.page())
    async with run_worker(shop):
        await shop.begin()
        await shop.notify(payment(shop.order_id))
        await wait_until_reported(shop, "CHARGE_SUCCESS")
    assert shop.amounts == amounts(charged=TOTAL)


@pytest.mark.usefixtures("no_tick")
async def test_the_next_event_of_a_payment_follows_the_one_before(reserved_shop: Shop) -> None:
    """Both are due at once, and only one of a payment is told at a time."""
    async with run_worker(reserved_shop):
        await reserved_shop.notify(operation("capture", reserved_shop.order_id, "300.00", operation_id="portal"))
        await wait_until_reported(reserved_shop, "CANCEL_SUCCESS")
    assert reserved_shop.saleor.reported_types[-2:] == ["CHARGE_SUCCESS", "CANCEL_SUCCESS"]


@pytest.mark.fault("poison")
@pytest.mark.usefixtures("no_tick")
async def test_a_round_that_fails_is_followed_by_the_next(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    claim, failed = Consumer.claim, asyncio.Event()

    async def broken_once(consumer: Consumer, services: Services) -> list[Claim]:
        if not failed.is_set():
            failed.set()
            raise OSError("the disk is full")
        return await claim(consumer, services)

    monkeypatch.setattr(Consumer, "claim", broken_once)
    shop.gateway.will_answer(shop.gateway.page())
    await shop.begin()
    shop.clock.forward(seconds=25)
    async with run_worker(shop) as worker:
        await failed.wait()
        worker.wake()
        await wait_until_reported(shop, "INFO")


@pytest.mark.fault("poison")
async def test_a_job_that_fails_does_not_take_the_others_along(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    """And it is tried again when as much time has passed as a claim lasts."""
    shop.gateway.will_answer(shop.gateway.page(), HangUp())
    await shop.begin()
    first = shop.transaction
    shop.transaction = shop.saleor.new_transaction()
    await shop.begin()
    shop.gateway.book[shop.order_id] = [payment(shop.order_id)]
    shop.clock.forward(seconds=25)

    async def broken(*_: object, **__: object) -> None:
        raise RuntimeError("look-ups are broken")

    with monkeypatch.context() as patched:
        patched.setattr("app.worker.loop.resolve_operation", broken)
        await shop.work()
    assert shop.saleor.reported_types == ["INFO", "CHARGE_FAILURE"]
    assert first.actions == ["CANCEL"]
    await shop.pass_time(seconds=61)
    assert shop.saleor.reported_types == ["INFO", "CHARGE_FAILURE", "CHARGE_SUCCESS"]


@pytest.mark.fault("poison")
async def test_a_job_that_cannot_even_be_postponed_ends_no_worker(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    """It keeps its claim, and is tried again when that has expired."""
    shop.gateway.will_answer(shop.gateway.page())
    await shop.begin()

    async def broken(*_: object, **__: object) -> None:
        raise RuntimeError("nobody has thought of this")

    with monkeypatch.context() as patched, capture_logs() as logged:
        patched.setattr("app.worker.loop.deliver", broken)
        patched.setattr("app.worker.consumer.postpone_claim", broken)
        await shop.pass_time(seconds=30)
    assert [line["event"] for line in logged][-2:] == ["job.failed", "job.not_postponed"]
    await shop.pass_time(seconds=61)
    assert shop.saleor.reported_types == ["INFO"]


@pytest.mark.fault("poison")
@pytest.mark.parametrize("job", ["app.worker.loop.resolve_operation", "app.worker.loop.deliver"])
async def test_a_job_that_fails_each_time_is_tried_after_pauses_that_grow(
    shop: Shop, monkeypatch: pytest.MonkeyPatch, job: str
) -> None:
    """Of a queue whose rows count the attempts, and of one whose rows do not; whatever others are due meanwhile."""
    shop.gateway.will_answer(shop.gateway.page(), HangUp())
    await shop.begin()
    tried_at: list[datetime] = []

    async def broken(*_: object, **__: object) -> None:
        tried_at.append(shop.clock.now)
        raise TypeError("an answer that nobody thought of")

    with monkeypatch.context() as patched:
        patched.setattr(job, broken)
        await shop.pass_time(hours=8)
    pauses = [later - earlier for earlier, later in pairwise(tried_at)]
    lease = shop.services.schedule.lease
    assert pauses[:6] == [lease, 2 * lease, 4 * lease, 8 * lease, 16 * lease, 32 * lease]
    assert set(pauses[6:]) == {shop.services.schedule.longest_pause}
    await shop.pass_time(hours=1)
    assert shop.saleor.reported_types, "when it works again, what waited is done"


async def check_now(shop: Shop) -> None:
    """Make the check whether this Saleor accepts the token due."""
    async with shop.services.database.transaction() as session:
        (await session.get_one(Installation, shop.installation.id)).next_check_at = shop.clock.now


@pytest.mark.fault("poison")
async def test_a_job_that_worked_in_between_is_tried_soon_after_it_fails_again(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    await check_now(shop)
    tried_at: list[datetime] = []
    check = check_presence

    async def sometimes_broken(*asked: Any) -> None:
        tried_at.append(shop.clock.now)
        if len(tried_at) in {1, 2, 4}:
            raise TypeError("an answer that nobody thought of")
        await check(*asked)

    monkeypatch.setattr("app.worker.loop.check_presence", sometimes_broken)
    await shop.pass_time(hours=8)
    lease = shop.services.schedule.lease
    first, second, third, fourth, fifth = tried_at[:5]
    assert (second - first, third - second, fifth - fourth) == (lease, 2 * lease, lease)


async def test_a_time_that_the_job_has_set_before_it_failed_is_kept(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    await check_now(shop)
    check = check_presence
    failed: list[datetime] = []

    async def breaks_at_the_end(*asked: Any) -> None:
        await check(*asked)
        failed.append(shop.clock.now)
        raise TypeError("at the very end")

    monkeypatch.setattr("app.worker.loop.check_presence", breaks_at_the_end)
    await shop.pass_time(hours=3)
    assert len(failed) > 1
    assert {later - earlier for earlier, later in pairwise(failed)} == {CHECK_INTERVAL}


@pytest.mark.usefixtures("no_tick")
async def test_a_worker_that_is_stopped_leaves_nothing_half_done(shop: Shop) -> None:
    """It is stopped while the gateway keeps it waiting: the operation is unknown, and found later."""
    await shop.complete_payment()
    shop.gateway.will_answer(HangUp())
    await shop.request_action("REFUND", "1.00", "first")
    await shop.request_action("REFUND", "2.00", "second")
    arrived = asyncio.Event()

    async def notice(heard: object) -> None:
        if shop.gateway.calls == ["refund", "refund"]:
            arrived.set()

    shop.gateway.on_request = notice
    shop.gateway.will_answer(Silence())
    shop.record_refund("1.00", "refund-1")
    shop.clock.forward(seconds=4)
    async with run_worker(shop):
        await arrived.wait()
    assert (await shop.operation(Kind.REFUND, 1)).state is State.INTENT
    shop.record_refund("2.00", "refund-2")
    await shop.pass_time(minutes=2)
    assert shop.gateway.calls == ["refund", "refund"]
    assert shop.amounts == amounts(charged="566.50", refunded="3.00")


async def test_nothing_due_is_nothing_done(shop: Shop) -> None:
    assert await Worker(shop.saleor).work_once(shop.services) == 0


async def test_a_round_does_everything_that_is_due(shop: Shop) -> None:
    await shop.complete_payment()
    shop.gateway.will_answer(json_reply(operation("refund", shop.order_id, "1.00", "pending", operation_id="refund-1")))
    await shop.request_action("REFUND", "1.00")
    await shop.notify(operation("refund", shop.order_id, "2.00", operation_id="portal-1"))
    shop.clock.forward(minutes=2)
    worker = Worker(shop.saleor)
    # A notification, the event that came of it, a look at the gateway, and one for the order.
    assert await worker.work_once(shop.services) == 4
    assert await worker.work_once(shop.services) == 0


class TestTheRealClient:
    """The worker with the real client of Saleor's API, over HTTP."""

    @staticmethod
    async def deliver(shop: Shop, *answers: dict[str, Any] | Response) -> list[dict[str, Any]]:
        """Let the worker report one event to a Saleor that answers so; return what it heard."""
        script, heard = list(answers), []

        async def graphql(request: Request) -> Response:
            assert request.headers["authorization"] == "Bearer the-app-token"
            variables = (await request.json())["variables"]
            if set(variables) == {"id"}:  # what it has of the transaction: others have refunded, so it is asked first
                return JSONResponse({"data": {"transaction": {"events": []}}})
            heard.append(variables)
            answer = script.pop(0)
            return (
                answer if isinstance(answer, Response) else JSONResponse({"data": {"transactionEventReport": answer}})
            )

        saleor = Starlette(routes=[Route("/graphql/", graphql, methods=["POST"])])
        async with httpx2.AsyncClient(transport=httpx2.ASGITransport(saleor)) as http:
            worker = Worker(SaleorClient(http, Documents(MANIFEST / "operations")))
            await shop.notify(operation("refund", shop.order_id, "1.10", operation_id="portal-1"))
            for _ in range(6):
                await worker.work_once(shop.services)
                shop.clock.forward(seconds=1)
        assert script == []
        return heard

    async def test_saleor_takes_the_report(self, shop: Shop) -> None:
        await shop.complete_payment()
        accepted = {"alreadyProcessed": False, "transactionEvent": {"id": "RXZlbnQ6MQ=="}, "errors": []}
        [variables] = await self.deliver(shop, accepted)
        assert variables == {
            "id": shop.transaction.id,
            "type": "REFUND_SUCCESS",
            "pspReference": "portal-1",
            "amount": 1.1,
            "message": "Refunded [1004]",
            "availableActions": ["REFUND"],
            "externalUrl": f"https://pay.example.com/payments/{shop.order_id}?saleorApiUrl={SALEOR}",
        }

    @pytest.mark.fault("saleor-slow")
    async def test_saleor_answers_late(self, shop: Shop) -> None:
        await shop.complete_payment()
        repeated = {"alreadyProcessed": True, "transactionEvent": {"id": "RXZlbnQ6MQ=="}, "errors": []}
        heard = await self.deliver(shop, Response(status_code=502), repeated)
        assert len(heard) == 2
        assert heard[0] == heard[1]
        assert (await shop.aggregate()).events[-1].state == "delivered"

    @pytest.mark.fault("saleor-down")
    @pytest.mark.parametrize("answer", ["null", "[]", '{"data": 5}', '{"errors": 7}', '{"data": {"app": 5}}'])
    async def test_saleor_answers_with_json_of_an_odd_shape(self, shop: Shop, answer: str) -> None:
        """As when it is down: it counts as away, and is told once it answers."""
        await shop.complete_payment()
        accepted = {"alreadyProcessed": False, "transactionEvent": {"id": "RXZlbnQ6MQ=="}, "errors": []}
        with capture_logs() as logs:
            heard = await self.deliver(shop, Response(answer), accepted)
        assert len(heard) == 2
        assert [log["event"] for log in logs if "exc_info" in log] == []
        assert (await shop.aggregate()).events[-1].state == "delivered"

    async def test_a_store_that_answers_with_json_of_an_odd_shape_is_away(self, shop: Shop) -> None:
        await shop.complete_payment()
        await self.deliver(shop, *[Response("null")] * 3)
        async with shop.services.database.transaction() as session:
            assert (await session.get_one(Installation, shop.installation.id)).away_since is not None

    async def test_saleor_refuses_for_good(self, shop: Shop) -> None:
        await shop.complete_payment()
        error = {"field": "pspReference", "code": "INCORRECT_DETAILS", "message": "another amount"}
        refusal = {"alreadyProcessed": False, "transactionEvent": None, "errors": [error]}
        assert len(await self.deliver(shop, refusal)) == 1
        aggregate = await shop.aggregate()
        assert aggregate.events[-1].state == "refused"
        assert "INCORRECT_DETAILS" in (problem_text(aggregate.payment) or "")
