"""What Prometheus reads of a shop in which payments happen."""

import re
from datetime import timedelta

import pytest
from sqlalchemy import text
from sqlmodel import select

from app.core.vocabulary import State
from app.flows.notifications import Receipt, receive
from app.ops.monitoring.gauges import read_backlog
from app.ops.monitoring.metrics import status_code_label
from app.store.tables import Operation
from integration_base.telemetry import tracing
from integration_base_tests.clock import Clock
from integration_base_tests.loopback import json_reply
from tests.monitoring.conftest import Metrics
from tests.payments.shop import Shop
from tests.statements import record_statements

ENDED = "saleor_gateway_operations_ended_total"
# All stores are looked at: they are few.
THROUGH_A_TABLE = re.compile(
    r"Seq Scan on (?!installation)|SCAN (?:operation|saleor_event|notification|problem|payment)$"
)


async def test_a_payment_is_counted_where_it_is_committed(watched: Metrics, shop: Shop) -> None:
    ended = await watched.value(ENDED, kind="create", state="success")
    delivered = await watched.value("saleor_gateway_event_delay_seconds_count")
    with tracing() as trace:
        await shop.complete_payment()
    assert await watched.value(ENDED, kind="create", state="success") == ended + 1
    assert await watched.value("saleor_gateway_event_delay_seconds_count") > delivered
    calls = (await watched.families())["saleor_gateway_gateway_call_seconds"].samples
    assert {call.labels["endpoint"] for call in calls} >= {"POST /payment"}
    exemplars = {call.exemplar.labels["trace_id"] for call in calls if call.exemplar}
    assert trace.id in exemplars


async def test_what_came_to_nothing_is_not_counted(watched: Metrics, paid_shop: Shop) -> None:
    before = await watched.value(ENDED, kind="create", state="failure")
    aggregate = await paid_shop.aggregate()

    async def fail_and_break_off() -> None:
        async with paid_shop.services.database.transaction() as session:
            operation = (await session.exec(select(Operation).where(Operation.id == aggregate.create.id))).one()
            operation.state = State.FAILURE
            await session.flush()
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await fail_and_break_off()
    assert await watched.value(ENDED, kind="create", state="failure") == before


async def test_what_nobody_knows_has_an_age(watched: Metrics, paid_shop: Shop, clock: Clock) -> None:
    assert await watched.value("saleor_gateway_database_up") == 1
    paid_shop.gateway.will_answer(json_reply({"message": "bad gateway"}, 502))
    await paid_shop.request_action("REFUND", "100.00")
    clock.forward(minutes=7)
    async with paid_shop.services.database.transaction() as session:
        standing = await read_backlog(session, clock())
    unknown = standing.operations[State.UNKNOWN]
    assert unknown.count == 1
    assert unknown.since == clock() - timedelta(minutes=7)
    assert standing.due["look_ups"].count == 1


@pytest.mark.threat("flood")
async def test_a_forged_notification_is_counted_and_a_strangers_account_is_no_label(
    watched: Metrics, shop: Shop
) -> None:
    name = "saleor_gateway_signatures_refused_total"
    before = await watched.value(name, sender="gateway")
    assert await receive(shop.services, shop.account.id, b"data=e30%3D&signature=AAAA") is Receipt.FORGED
    assert await receive(shop.services, "somebody-elses", b"data=e30%3D&signature=AAAA") is Receipt.UNKNOWN_ACCOUNT
    assert await watched.value(name, sender="gateway") == before + 1
    answer = await watched.http.get(f"{watched.url}/metrics")
    for unbounded in ("somebody-elses", shop.account.id, "shop.example.com"):
        assert unbounded not in answer.text


@pytest.mark.parametrize(("code", "label"), [("4119", "4119"), ("", "none"), ("Bad card 4111", "other")])
def test_a_code_that_nobody_publishes_is_no_label(code: str, label: str) -> None:
    assert status_code_label(code) == label


async def test_looking_reads_indexes_of_what_is_open_and_goes_through_no_table(paid_shop: Shop, clock: Clock) -> None:
    engine = paid_shop.services.database.engine
    with record_statements(paid_shop.services.database) as asked:
        async with paid_shop.services.database.transaction() as session:
            await read_backlog(session, clock())
    reads = [statement for statement in asked if re.search(r"\bFROM\b", statement[0])]
    assert len(reads) == 7
    async with engine.connect() as connection:
        if engine.dialect.name == "postgresql":  # of tables as small as these it would read all, and be right
            await connection.execute(text("SET LOCAL enable_seqscan = off"))
        explain = "EXPLAIN" if engine.dialect.name == "postgresql" else "EXPLAIN QUERY PLAN"
        for statement, parameters in reads:
            plan = await connection.exec_driver_sql(f"{explain} {statement}", parameters)
            steps = [str(row[-1]) for row in plan]
            through = re.compile(
                r"Seq Scan on (?!installation)|SCAN (?:operation|saleor_event|notification|problem|payment)$"
            )
            assert not [step for step in steps if through.search(step)], steps
