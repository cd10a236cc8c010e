"""Both stand-ins show the time that they were given."""

from datetime import UTC, datetime

import httpx2

from gateway_client.sandbox.server import running_sandbox
from gateway_client.sandbox.settings import SandboxSettings
from integration_base.server_clock import compare_clock
from integration_base_tests.waiting import LONGEST_WAIT
from saleor_app_sdk.testing import serving


async def test_played_servers_show_the_clock_that_they_were_given() -> None:
    def long_ago() -> datetime:
        return datetime(2020, 2, 29, 12, tzinfo=UTC)

    async with (
        serving(clock=long_ago) as running,
        running_sandbox(SandboxSettings(port=0, clock=long_ago)) as (gateway, _),
        httpx2.AsyncClient(trust_env=False) as http,
    ):
        for address in (f"{running.url}/.well-known/jwks.json", gateway):
            response = await http.get(address)
            assert response.headers.get_list("date") == ["Sat, 29 Feb 2020 12:00:00 GMT"]
            difference = await compare_clock(http, address, long_ago, within=LONGEST_WAIT)
            assert difference is not None
            assert not difference.size
