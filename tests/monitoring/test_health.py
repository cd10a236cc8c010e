"""What orchestrators hear: whether the process lives, and whether it is to be sent requests."""

import asyncio
import socket
from collections.abc import Callable

import httpx2
import psycopg
import pytest
from psycopg import sql
from sqlalchemy import make_url, text
from structlog.testing import capture_logs

from app.flows.staff.manual_resolution import acknowledge_turned_away
from app.ops.monitoring.health import TURNED_AWAY_CACHE_SECONDS, Readiness
from app.ops.monitoring.server import MOST_CONNECTIONS, run_monitoring_server
from app.store.database import Database, create_engine
from app.store.migrate import migrate
from app.store.turned_away import RECENT
from integration_base_tests.clock import Clock
from integration_base_tests.waiting import unless_it_hangs
from tests.monitoring.conftest import Metrics
from tests.payments.shop import Shop
from tests.payments.test_turned_away import begin, turn_away
from tests.statements import record_statements


@pytest.mark.parametrize("verb", ["GET", "HEAD"])
async def test_a_process_with_its_database_lives_and_is_ready(watched: Metrics, verb: str) -> None:
    for path in ("/healthz", "/readyz"):
        answer = await watched.http.request(verb, watched.url + path)
        assert answer.status_code == 200
        assert bool(answer.content) is (verb == "GET")


@pytest.mark.fault("process-stopped")
async def test_one_that_is_asked_to_end_lives_on_and_is_sent_nothing(watched: Metrics) -> None:
    watched.readiness.stop()
    assert (await watched.http.get(f"{watched.url}/healthz")).status_code == 200
    answer = await watched.http.get(f"{watched.url}/readyz")
    assert (answer.status_code, answer.json()["why"]) == (503, "the process is stopping")


@pytest.mark.fault("no-worker")
async def test_one_whose_worker_hangs_does_not_live(watched: Metrics) -> None:
    watched.worker_is_hung = True
    answer = await watched.http.get(f"{watched.url}/healthz")
    assert (answer.status_code, answer.json()) == (
        503,
        {"status": "hung", "why": "the worker has begun no round for a while", "version": "1.2.3"},
    )
    watched.worker_is_hung = False
    assert (await watched.http.get(f"{watched.url}/healthz")).status_code == 200


@pytest.mark.fault("two-versions")
async def test_a_database_at_another_migration_is_not_worked_with(watched: Metrics, shop: Shop) -> None:
    async with shop.services.database.transaction() as session:
        before = (await (await session.connection()).execute(text("SELECT version_num FROM alembic_version"))).scalar()
        await (await session.connection()).execute(text("UPDATE alembic_version SET version_num = '0000'"))
    try:
        answer = await watched.http.get(f"{watched.url}/readyz")
        assert (answer.status_code, answer.json()["why"]) == (503, "the database stands at another migration")
        async with shop.services.database.transaction() as session:
            newer = text("UPDATE alembic_version SET version_num = '0999.0001'")
            await (await session.connection()).execute(newer)
        answer = await watched.http.get(f"{watched.url}/readyz")
        assert answer.status_code == 200, "a newer program has migrated it, and this one still works with it"
    finally:
        async with shop.services.database.transaction() as session:
            put_back = text("UPDATE alembic_version SET version_num = :before")
            await (await session.connection()).execute(put_back, {"before": before})
    assert (await watched.http.get(f"{watched.url}/readyz")).status_code == 200


@pytest.mark.fault("database-away")
async def test_without_its_database_it_lives_and_is_not_ready_and_metrics_say_so(
    watched: Metrics, shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    def gone() -> object:
        raise OSError("the server is gone, and its password is secret")

    monkeypatch.setattr(shop.services.database, "transaction", gone)
    assert (await watched.http.get(f"{watched.url}/healthz")).status_code == 200
    answer = await watched.http.get(f"{watched.url}/readyz")
    assert (answer.status_code, answer.json()["why"]) == (503, "the database does not answer")
    families = await watched.families()
    assert families["saleor_gateway_database_up"].samples[0].value == 0
    assert "saleor_gateway_operations_open" not in families


@pytest.mark.fault("database-away")
async def test_a_database_that_does_not_answer_is_a_line_and_not_one_for_each_request(
    watched: Metrics, shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    def gone() -> object:
        raise OSError

    with monkeypatch.context() as away, capture_logs() as logs:
        away.setattr(shop.services.database, "transaction", gone)
        for _ in range(5):
            assert (await watched.http.get(f"{watched.url}/readyz")).status_code == 503
    assert [log["event"] for log in logs] == ["readiness.lost"]
    assert (await watched.http.get(f"{watched.url}/readyz")).status_code == 200
    with monkeypatch.context() as away, capture_logs() as logs:
        away.setattr(shop.services.database, "transaction", gone)
        await watched.http.get(f"{watched.url}/readyz")
    assert [log["event"] for log in logs] == ["readiness.lost"], "it has gone away anew"


@pytest.mark.fault("database-away")
async def test_a_database_that_only_reads_is_none_and_the_metrics_and_a_line_say_so(
    new_postgresql: Callable[[], str], clock: Clock
) -> None:
    """As after a failover. A process that was still asked could keep no notification of the gateway."""
    url = new_postgresql()
    await migrate(url)
    name = sql.Identifier(make_url(url).database or "")
    database = Database(create_engine(url))
    async with (
        run_monitoring_server(("127.0.0.1", 0), "1.2.3", Readiness(), database, clock) as address,
        httpx2.AsyncClient(base_url=address or "", trust_env=False) as http,
    ):
        assert (await http.get("/readyz")).status_code == 200
        with psycopg.connect(url, autocommit=True) as administrator, capture_logs() as logs:
            administrator.execute(sql.SQL("ALTER DATABASE {} SET default_transaction_read_only = on").format(name))
            await database.engine.dispose()  # the primary's connections; new ones lead to the standby
            for _ in range(3):
                answer = await http.get("/readyz")
                assert (answer.status_code, answer.json()["why"]) == (503, "the database accepts no changes")
            assert [log["event"] for log in logs] == ["database.lost"]
            assert "saleor_gateway_database_up 0.0" in (await http.get("/metrics")).text
            administrator.execute(sql.SQL("ALTER DATABASE {} RESET default_transaction_read_only").format(name))
        assert (await http.get("/readyz")).status_code == 200, "it has connected anew"
    await database.close()


async def test_the_monitoring_port_may_be_at_an_address_of_ipv6(database: Database, clock: Clock) -> None:
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError:
        pytest.skip("this machine has no IPv6")
    async with (
        run_monitoring_server(("::1", 0), "1.2.3", Readiness(), database, clock) as address,
        httpx2.AsyncClient(base_url=address or "", trust_env=False) as http,
    ):
        assert (await http.get("/healthz")).status_code == 200


@pytest.mark.threat("flood")
@pytest.mark.fault("no-connections")
async def test_connections_that_are_held_at_the_monitoring_port_leave_the_shop_its_own(watched: Metrics) -> None:
    """Each is an open file of the process, of which shoppers' connections need some, too."""
    host, port = watched.url.removeprefix("http://").split(":")
    held = [await asyncio.open_connection(host, int(port)) for _ in range(MOST_CONNECTIONS + 20)]
    for _, writer in held:
        writer.write(b"GET /healthz HTTP/1.1\r\n")
    assert (await watched.http.get(f"{watched.url}/healthz")).status_code == 200
    async with unless_it_hangs():
        for reader, _ in held[:20]:
            assert await reader.read() == b""
    for _, writer in held:
        writer.close()


CLOSED = "saleor_gateway_channels_turning_away"


@pytest.mark.law(17)
async def test_a_process_whose_shoppers_are_turned_away_is_ready_but_degraded(watched: Metrics, shop: Shop) -> None:
    await turn_away(shop, RECENT - 1)
    assert (await watched.http.get(f"{watched.url}/readyz")).json() == {"status": "ready", "version": "1.2.3"}
    await turn_away(shop, 1)
    watched.seconds += TURNED_AWAY_CACHE_SECONDS
    answer = await watched.http.get(f"{watched.url}/readyz")
    assert answer.status_code == 200, "no other process would let them through"
    assert answer.json() == {
        "status": "degraded",
        "why": "shoppers are turned away and none gets through, channels: 1",
        "version": "1.2.3",
    }
    assert await watched.value(CLOSED) == 1


@pytest.mark.law(17)
@pytest.mark.parametrize("end", ["one gets through", "acknowledged"])
async def test_a_degraded_process_is_ready_again_when_it_is_over(watched: Metrics, shop: Shop, end: str) -> None:
    await turn_away(shop, data={"returnUrl": "https://elsewhere.test/"})
    assert (await watched.http.get(f"{watched.url}/readyz")).json()["status"] == "degraded"
    if end == "acknowledged":
        await acknowledge_turned_away(shop.services, shop.installation.id)
    else:
        shop.clock.forward(seconds=1)
        shop.gateway.will_answer(shop.gateway.page())
        await begin(shop)
    watched.seconds += TURNED_AWAY_CACHE_SECONDS
    assert (await watched.http.get(f"{watched.url}/readyz")).json()["status"] == "ready"
    assert await watched.value(CLOSED) == 0


@pytest.mark.threat("flood")
async def test_readiness_that_is_requested_often_counts_channels_once(watched: Metrics, shop: Shop) -> None:
    await watched.http.get(f"{watched.url}/readyz")
    with record_statements(shop.services.database) as statements:
        for _ in range(10):
            await watched.http.get(f"{watched.url}/readyz")
    assert not [statement for statement, _ in statements if "turned_away" in statement]
