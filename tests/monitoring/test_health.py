"""What orchestrators hear: whether the process lives, and whether it is to be sent requests."""

import pytest
from sqlalchemy import text

from tests.monitoring.conftest import Metrics
from tests.payments.shop import Shop


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
