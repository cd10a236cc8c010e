"""What is found out about a gateway, and that finding it out can move nothing."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import httpx2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway_client.client import GatewayClient
from gateway_client.credentials import Credentials
from gateway_client.dialect import CaptureEndpoint
from gateway_client.discovery import zone_offset
from gateway_client.errors import OutcomeUnknownError
from gateway_client.sandbox.settings import DIALECTS, Behaviour, PointOfSale
from gateway_client_tests.conftest import RecordedSleeps
from gateway_client_tests.counterpart import ScriptedServer
from gateway_client_tests.sandbox.harness import open_harness
from integration_base_tests.clock import Clock
from integration_base_tests.loopback import HangUp, ReceivedRequest, Reply, json_reply, serve_replies, text_reply

NO_ORDER = json_reply({"message": "Invalid", "args": [{"field_name": "order_id", "violation": "is missing"}]}, 400)
NOON = datetime(2026, 11, 21, 12, tzinfo=UTC)


async def find(client: GatewayClient, gateway: ScriptedServer, nowhere: Reply, answer: Reply) -> CaptureEndpoint | None:
    """Return what is found where a path that cannot exist, and that of captures, are answered so."""
    gateway.will_answer(nowhere, answer)
    return await client.discovery.capture_endpoint(timeout=30)


@pytest.mark.parametrize(
    ("nowhere", "answer", "found"),
    [
        (text_reply("Not Found", 404), NO_ORDER, "plain"),
        (text_reply("Not Found", 404), text_reply("Not Found", 404), "split"),
        (text_reply("<h1>405</h1>", 405), text_reply("<h1>405</h1>", 405), "split"),
        (json_reply({"message": "No route"}, 404), json_reply({"message": "Order not found"}, 404), "plain"),
        (NO_ORDER, NO_ORDER, None),
        (text_reply("Not Found", 404), json_reply({"message": "Forbidden"}, 403), None),
        (text_reply("Not Found", 404), text_reply("", 503), None),
        (text_reply("Not Found", 404), json_reply({"status": "success"}), None),
        (text_reply("", 302, location="https://elsewhere.example/"), NO_ORDER, None),
    ],
)
async def test_whether_there_is_a_path_for_captures_without_split(
    client: GatewayClient, gateway: ScriptedServer, nowhere: Reply, answer: Reply, found: str | None
) -> None:
    assert await find(client, gateway, nowhere, answer) == found
    assert [request.json for request in gateway.requests] == [{"pos_id": client.pos_id}] * 2, "no order is named"
    assert gateway.last.path == "/api/v1/capture"


async def test_a_gateway_that_repeats_the_path_answers_both_alike(
    http: httpx2.AsyncClient, credentials: Credentials
) -> None:
    async def repeat(request: ReceivedRequest) -> Reply:
        return json_reply({"message": f"No resource {request.path.lstrip('/')}."}, 404)

    async with serve_replies(repeat) as url:
        client = GatewayClient(http, replace(credentials, base_url=url))
        assert await client.discovery.capture_endpoint(timeout=30) is CaptureEndpoint.SPLIT


async def test_no_answer_is_no_finding(client: GatewayClient, gateway: ScriptedServer) -> None:
    gateway.will_answer(HangUp())
    with pytest.raises(OutcomeUnknownError):
        await client.discovery.capture_endpoint(timeout=30)


@pytest.mark.parametrize(("dialect", "found"), [("interface", "split"), ("public", "plain")])
async def test_the_sandbox_in_each_dialect(
    dialect: str, found: str, http: httpx2.AsyncClient, naps: RecordedSleeps, clock: Clock
) -> None:
    pos = PointOfSale(behaviour=Behaviour.model_validate(DIALECTS[dialect]))
    async with open_harness(clock, points_of_sale=(pos,)) as harness:
        client = GatewayClient(http, harness.credentials, sleep=naps)
        assert await client.discovery.capture_endpoint(timeout=30) == found


@pytest.mark.law(15)
@given(
    quarters=st.integers(-48, 56),
    late=st.lists(st.timedeltas(timedelta(0), timedelta(days=2)), max_size=5),
    soon=st.timedeltas(timedelta(seconds=-50), timedelta(minutes=5)),
)
def test_the_zone_of_a_gateway_shows_in_notifications_that_arrive_soon(
    quarters: int, late: list[timedelta], soon: timedelta
) -> None:
    offset = timedelta(minutes=15) * quarters
    wall = (NOON + offset).replace(tzinfo=UTC)
    assert zone_offset([(wall, NOON + delay) for delay in (soon, *late)]) == offset


@pytest.mark.law(15)
def test_notifications_that_are_late_or_wrong_show_no_zone() -> None:
    assert zone_offset([]) is None
    assert zone_offset([(NOON, NOON + timedelta(minutes=6))]) is None
    assert zone_offset([(NOON + timedelta(hours=20), NOON)]) is None
