"""Every way in which a call can go wrong, and whether it could have moved money."""

import asyncio
import socket
from dataclasses import replace

import httpx2
import pytest

from gateway_client.client import GatewayClient
from gateway_client.credentials import Credentials
from gateway_client.errors import GatewayError, NotSentError, OutcomeUnknownError
from gateway_client.models import Refund
from gateway_client_tests.counterpart import PAYMENT, REFUND, ScriptedServer
from integration_base_tests.loopback import Garbage, HangUp, Reply, Silence, json_reply, text_reply
from integration_base_tests.waiting import LONGEST_WAIT

ASKED = Refund(order_id="order1", order_currency="UAH")


async def refuse_to_answer(client: GatewayClient, timeout: float = LONGEST_WAIT) -> GatewayError:
    with pytest.raises(GatewayError) as caught:
        await client.refund(ASKED, timeout=timeout)
    return caught.value


@pytest.mark.fault("gateway-down")
async def test_nobody_listens_so_nothing_was_sent(http: httpx2.AsyncClient, credentials: Credentials) -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))  # nobody else can listen there
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        nowhere = replace(credentials, base_url=url, balances_url=url, register_url=url)
        error = await refuse_to_answer(GatewayClient(http, nowhere))
    assert type(error) is NotSentError
    assert (error.method, error.path, error.order_id) == ("POST", "/api/v1/refund", "order1")


@pytest.mark.fault("no-connections")
async def test_no_free_connection_so_nothing_was_sent(credentials: Credentials, gateway: ScriptedServer) -> None:
    gateway.will_answer(Silence())
    limits = httpx2.Limits(max_connections=1)
    async with httpx2.AsyncClient(limits=limits, trust_env=False) as narrow:
        client = GatewayClient(narrow, credentials)
        first = asyncio.create_task(refuse_to_answer(client))
        await gateway.arrived.wait()
        error = await refuse_to_answer(client, 0.3)
        assert type(error) is NotSentError
        assert len(gateway.requests) == 1
        first.cancel()
        await asyncio.gather(first, return_exceptions=True)


async def test_a_host_that_never_completes_the_handshake_was_sent_nothing(
    http: httpx2.AsyncClient, credentials: Credentials, gateway: ScriptedServer
) -> None:
    # It accepts the connection and then says nothing of TLS: our request is not on the wire yet.
    url = gateway.url.replace("http:", "https:")
    silent = replace(credentials, base_url=url, balances_url=url, register_url=url)
    error = await refuse_to_answer(GatewayClient(http, silent), 0.6)
    assert type(error) is NotSentError
    assert gateway.requests == []


async def test_our_own_deadline_before_the_request_is_written_means_not_sent(
    credentials: Credentials, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Dithering(httpx2.AsyncBaseTransport):
        async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
            await request.extensions["trace"]("connection.connect_tcp.started", {})
            await asyncio.sleep(3600)
            raise AssertionError

    async with httpx2.AsyncClient(transport=Dithering()) as http:
        error = await refuse_to_answer(GatewayClient(http, credentials), 0.05)
    assert type(error) is NotSentError


async def test_a_transport_that_does_not_tell_how_far_it_got_may_have_sent_it(credentials: Credentials) -> None:
    class Mute(httpx2.AsyncBaseTransport):
        async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:  # noqa: ARG002 - the signature of transports
            await asyncio.sleep(3600)
            raise AssertionError

    async with httpx2.AsyncClient(transport=Mute()) as http:
        error = await refuse_to_answer(GatewayClient(http, credentials), 0.05)
    assert type(error) is OutcomeUnknownError


@pytest.mark.parametrize("seconds", [0, -1])
async def test_without_time_left_nothing_is_sent(
    client: GatewayClient, gateway: ScriptedServer, seconds: float
) -> None:
    assert type(await refuse_to_answer(client, seconds)) is NotSentError
    assert gateway.requests == []


async def test_after_the_process_closed_its_connections_nothing_is_sent(credentials: Credentials) -> None:
    http = httpx2.AsyncClient()
    await http.aclose()
    assert type(await refuse_to_answer(GatewayClient(http, credentials))) is NotSentError


@pytest.mark.fault("network-cut", "gateway-unknown")
@pytest.mark.parametrize(
    "behaviour",
    [
        HangUp(),
        Garbage(),
        Reply(body=(b'{"payment_id"',), length=500),
        json_reply({"message": "Internal error"}, 500),
        json_reply({"message": "Bad gateway"}, 502),
        text_reply("<html>unavailable</html>", 503),
        text_reply("", 504),
        json_reply(PAYMENT, 500),
        json_reply({"message": "Request timeout"}, 408),
        text_reply("OK"),
        text_reply(""),
        json_reply([]),
        json_reply("OK"),
        json_reply({"status": "ok"}),
        json_reply({"message": "done"}),
        json_reply(PAYMENT),
        json_reply({**REFUND, "order_id": "another"}),
        json_reply({**REFUND, "method": "capture"}),
        json_reply({**REFUND, "amount": "much"}),
        text_reply('{"amount": NaN}'),
        text_reply('{"amount": 1e999999999}'),
        text_reply("[" * 100_000),
        text_reply("x" * (4 * 1024 * 1024 + 1)),
        text_reply("", 303, location="https://pay.example/form"),
        text_reply("", 302, location="/elsewhere"),
        text_reply("", 302, location="http://["),
    ],
    ids=lambda behaviour: repr(behaviour)[:60],
)
async def test_it_may_have_been_done(client: GatewayClient, gateway: ScriptedServer, behaviour: Reply) -> None:
    gateway.will_answer(behaviour)
    error = await refuse_to_answer(client)
    assert type(error) is OutcomeUnknownError
    assert (error.method, error.path, error.order_id) == ("POST", "/api/v1/refund", "order1")
    assert len(gateway.requests) == 1, "never repeated, never redirected"


@pytest.mark.fault("gateway-slow")
async def test_silence_after_sending_is_unknown_at_the_deadline(client: GatewayClient, gateway: ScriptedServer) -> None:
    gateway.will_answer(Silence())
    assert type(await refuse_to_answer(client, 0.2)) is OutcomeUnknownError
    assert len(gateway.requests) == 1


@pytest.mark.fault("gateway-slow")
async def test_an_answer_that_trickles_does_not_outlive_the_deadline(
    client: GatewayClient, gateway: ScriptedServer
) -> None:
    # Each piece comes in time for a read time-out; the call as a whole does not.
    gateway.will_answer(Reply(body=(b" ",) * 1000, pause=0.02))
    loop = asyncio.get_running_loop()
    began = loop.time()
    assert type(await refuse_to_answer(client, 0.3)) is OutcomeUnknownError
    assert loop.time() - began < 10  # of 20


@pytest.mark.threat("keys-sent-elsewhere")
async def test_cookies_of_one_account_do_not_travel_to_another(
    http: httpx2.AsyncClient, credentials: Credentials, gateway: ScriptedServer
) -> None:
    gateway.will_answer(json_reply(REFUND, set_cookie="session=of-the-first; Path=/"), json_reply(REFUND))
    await GatewayClient(http, credentials).refund(ASKED, timeout=30)
    await GatewayClient(http, replace(credentials, api_key="other")).refund(ASKED, timeout=30)
    assert not gateway.last.has("cookie")


async def test_what_the_shared_pool_sends_by_default_is_not_sent_to_the_gateway(
    credentials: Credentials, gateway: ScriptedServer
) -> None:
    gateway.will_answer(json_reply(REFUND))
    async with httpx2.AsyncClient(
        headers={"Authorization": "Bearer of-somebody"}, auth=("u", "p"), follow_redirects=True, trust_env=False
    ) as shared:
        await GatewayClient(shared, credentials).refund(ASKED, timeout=30)
    assert not gateway.last.has("authorization")


@pytest.mark.parametrize(
    ("headers", "name"),
    [({}, "gateway-client"), ({"User-Agent": "shop/2.1"}, "shop/2.1"), ({"User-Agent": ""}, "gateway-client")],
)
async def test_requests_name_the_program_that_sends_them(
    credentials: Credentials, gateway: ScriptedServer, headers: dict[str, str], name: str
) -> None:
    """Firewalls turn away the name of the HTTP library, and the gateway's staff ask whose requests these are."""
    gateway.will_answer(json_reply(REFUND))
    async with httpx2.AsyncClient(headers=headers, trust_env=False) as http:
        await GatewayClient(http, credentials).refund(ASKED, timeout=30)
    assert gateway.last.header("user-agent") == name


@pytest.mark.threat("secrets-in-logs")
async def test_no_error_holds_a_key(client: GatewayClient, gateway: ScriptedServer) -> None:
    gateway.will_answer(HangUp())
    error = await refuse_to_answer(client)
    words = f"{error!r} {error} {error.args} {vars(error)}"
    assert "secret-of-the-api" not in words
    assert "key-of" not in words
    # The HTTP library's own error holds the request with its headers: it must not hang on to ours.
    assert error.__cause__ is None
    assert error.__context__ is None


@pytest.mark.threat("secrets-in-logs")
@pytest.mark.parametrize("status", [400, 401, 500])
async def test_a_gateway_that_quotes_the_keys_is_not_quoted(
    client: GatewayClient, gateway: ScriptedServer, credentials: Credentials, status: int
) -> None:
    words = f"no access for {credentials.api_key}:{credentials.api_secret} and {credentials.endpoints_key}"
    gateway.will_answer(json_reply({"message": words, "args": [{"field_name": "keys", "violation": words}]}, status))
    error = await refuse_to_answer(client)
    told = f"{error!r} {error} {error.args} {vars(error)}"
    assert "no access for (not shown):(not shown)" in told
    assert not [key for key in credentials.keys if key in told]
