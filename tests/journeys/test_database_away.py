"""PostgreSQL is away when the app starts, and later in the middle: nobody is lied to, and nobody has to do anything."""

import asyncio
import os
from collections.abc import AsyncIterator
from pathlib import Path

import httpx2
import pytest

from app.demo.processes import NotStartedError, ServerProcess, app_process, free_port
from app.store.migrate import migrate
from integration_base_tests.waiting import eventually
from tests.postgresql import open_postgresql_server

# A request that would be answered otherwise if the database were there, and how.
ASKED = {
    ("GET", "/readyz"): 200,
    ("GET", "/pay/c0ffee"): 404,
    ("GET", "/pay/return/c0ffee"): 404,
    ("POST", "/api/webhooks/gateway/c0ffee"): 404,
}


async def answers(http: httpx2.AsyncClient) -> dict[tuple[str, str], int]:
    return {(method, path): (await http.request(method, path)).status_code for method, path in ASKED}


@pytest.fixture
async def http() -> AsyncIterator[httpx2.AsyncClient]:
    async with httpx2.AsyncClient(trust_env=False) as http:
        yield http


@pytest.mark.long
@pytest.mark.fault("database-away-at-start", "database-away")
async def test_it_waits_to_be_started_again_and_then_says_503_until_the_database_is_back(
    tmp_path: Path, http: httpx2.AsyncClient
) -> None:
    with open_postgresql_server() as server:
        await migrate(server.url)
        server.die()
        environment = os.environ | {"APP_DATA_DIR": str(tmp_path / "data"), "APP_DATABASE_URL": server.url}
        app: ServerProcess = app_process(free_port(), tmp_path, environment)
        with pytest.raises(NotStartedError, match="ended by itself"):
            await app.start()
        assert [line.partition("127.0.0.1")[0] for line in app.last_lines()] == [
            "error: APP_DATABASE_URL: no server is listening at "
        ]
        assert app.process is not None
        assert app.process.returncode == 2

        await asyncio.to_thread(server.start)
        await app.start()  # as whoever watches over the process does
        try:
            http.base_url = httpx2.URL(app.url)
            assert await answers(http) == ASKED
            before = len(app.log.read_text().splitlines())
            await asyncio.to_thread(server.die)
            for _ in range(50):
                assert await answers(http) == dict.fromkeys(ASKED, 503)
            told = app.log.read_text().splitlines()[before:]
            assert "database.lost" in told[0]
            # For 200 requests and the rounds of the worker: one when it goes, and more at growing pauses.
            assert len(told) <= 5, told
            assert (await http.get("/pay/c0ffee")).headers["retry-after"] == "10"
            await asyncio.to_thread(server.start)

            async def as_before() -> bool:
                return await answers(http) == ASKED

            await eventually(as_before)
            assert not app.has_ended
        finally:
            await app.stop()
