"""One host that is slow or down never has all connections: the others are answered meanwhile."""

import asyncio
import ssl
from collections.abc import AsyncIterator

import httpx2
import pytest

from integration_base.outbound import CheckedTransport, no_guard
from integration_base_tests.loopback import Behaviour, ReceivedRequest, Silence, serve_replies, text_reply
from integration_base_tests.waiting import LONGEST_WAIT

ALL, SHARE = 10, 6


@pytest.fixture
async def http() -> AsyncIterator[httpx2.AsyncClient]:
    """A pool of ten connections."""
    limits = httpx2.Limits(max_connections=ALL, max_keepalive_connections=ALL)
    transport = CheckedTransport(ssl.create_default_context(), limits, no_guard)
    async with httpx2.AsyncClient(transport=transport, trust_env=False) as http:
        yield http


class Slow:
    """Answers nobody until it is let go."""

    def __init__(self) -> None:
        self.asked = 0
        self.let_go = asyncio.Event()
        self.full = asyncio.Event()

    async def __call__(self, _heard: ReceivedRequest) -> Behaviour:
        self.asked += 1
        if self.asked == SHARE:
            self.full.set()
        await self.let_go.wait()
        return text_reply("at last")


async def at_once(_heard: ReceivedRequest) -> Behaviour:
    return text_reply("at once")


@pytest.mark.fault("gateway-slow", "saleor-slow")
async def test_a_host_that_does_not_answer_leaves_connections_for_the_others(http: httpx2.AsyncClient) -> None:
    slow = Slow()
    async with serve_replies(slow) as there, serve_replies(at_once) as elsewhere:
        waits = httpx2.Timeout(LONGEST_WAIT, pool=0.5)  # for a connection
        waiting = [asyncio.create_task(http.get(there, timeout=waits)) for _ in range(3 * ALL)]
        await slow.full.wait()
        assert (await http.get(elsewhere)).text == "at once"
        assert slow.asked == SHARE

        found = await asyncio.gather(*waiting[SHARE:], return_exceptions=True)  # they have waited for their turn
        assert {type(failure) for failure in found} == {httpx2.PoolTimeout}  # and were never sent
        assert slow.asked == SHARE

        slow.let_go.set()
        assert [response.text for response in await asyncio.gather(*waiting[:SHARE])] == ["at last"] * SHARE
        assert (await http.get(there)).text == "at last"


async def test_who_waits_for_a_connection_gets_the_first_that_is_free(http: httpx2.AsyncClient) -> None:
    slow = Slow()
    async with serve_replies(slow) as there:
        waiting = [asyncio.create_task(http.get(there)) for _ in range(2 * ALL)]
        await slow.full.wait()
        slow.let_go.set()
        assert {response.text for response in await asyncio.gather(*waiting)} == {"at last"}
        assert slow.asked == 2 * ALL


async def test_an_answer_that_is_left_unread_gives_its_connection_back(http: httpx2.AsyncClient) -> None:
    async with serve_replies(at_once) as there:
        for _ in range(2 * ALL):
            async with http.stream("GET", there) as response:
                assert response.status_code == 200


async def test_so_does_what_nobody_waits_for_any_more(http: httpx2.AsyncClient) -> None:
    async def never(_heard: ReceivedRequest) -> Behaviour:
        return Silence()

    async with serve_replies(never) as there:
        for _ in range(2):
            waiting = [asyncio.create_task(http.get(there)) for _ in range(SHARE)]
            await asyncio.sleep(0)
            for task in waiting:
                task.cancel()
            found = await asyncio.gather(*waiting, return_exceptions=True)
            assert {type(failure) for failure in found} == {asyncio.CancelledError}
        with pytest.raises(httpx2.ReadTimeout):  # it has asked
            await http.get(there, timeout=httpx2.Timeout(LONGEST_WAIT, read=0.1))


async def test_and_a_host_that_nobody_reaches(http: httpx2.AsyncClient) -> None:
    for _ in range(2 * ALL):
        with pytest.raises(httpx2.ConnectError):
            await http.get("http://127.0.0.1:9")
