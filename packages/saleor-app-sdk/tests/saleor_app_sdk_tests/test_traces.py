"""The trace of a request goes from Saleor through the app and back to Saleor."""

import asyncio

import pytest
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from integration_base import telemetry
from integration_base.telemetry import read_traceparent, tracing
from integration_base_tests.step_recorder import record_steps
from saleor_app_sdk.graphql import SaleorClient
from saleor_app_sdk_tests.fake_saleor import Row, refund_body
from saleor_app_sdk_tests.graphql_api import saleor_client, serve_graphql
from saleor_app_sdk_tests.served_app import AppClient
from saleor_app_sdk_tests.test_reporting_together import note

ID, SPAN = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"


@pytest.mark.parametrize("signed", [True, False], ids=["verified", "forged"])
@pytest.mark.usefixtures("installed")
async def test_a_webhook_goes_on_in_saleors_trace_once_it_is_verified(app_client: AppClient, signed: bool) -> None:
    headers = {"traceparent": f"00-{ID}-{SPAN}-01"} | ({} if signed else {"Saleor_Signature": "a..b"})
    with record_steps() as noted:
        answer = await app_client.deliver(refund_body(), **headers)
    assert answer.status_code == (200 if signed else 401)
    (webhook,) = [recorded_step for recorded_step in noted if recorded_step.step.kind is telemetry.Kind.WEBHOOK]
    assert webhook.step.outcome == ("answered" if signed else "not_verified")
    assert (webhook.trace_id == ID) is signed


class Asked:
    """A Saleor that remembers the traces of requests."""

    def __init__(self) -> None:
        self.traceparents: list[str | None] = []

    async def answer(self, request: Request) -> Response:
        self.traceparents.append(request.headers.get("traceparent"))
        variables = (await request.json())["variables"]
        names = [name.removeprefix("pspReference") or "transactionEventReport" for name in variables if "psp" in name]
        return JSONResponse({"data": {name: {"alreadyProcessed": False, "errors": []} for name in names}})


async def report_in(client: SaleorClient, row: Row, reference: str, trace_id: str) -> None:
    with tracing(trace_id):
        await client.report(row, note(reference))


async def test_saleor_is_told_in_which_trace_it_is_asked() -> None:
    saleor = Asked()
    async with serve_graphql(saleor.answer) as row, saleor_client() as client:
        await report_in(client, row, "one", ID)
        await asyncio.gather(*(report_in(client, row, reference, ID) for reference in ("two", "three")))
        await asyncio.gather(*(report_in(client, row, letter, letter * 32) for letter in ("a", "b")))
    traces = [read_traceparent(header) for header in saleor.traceparents]
    assert len(traces) == 3, "those of one moment are asked together"
    ids = [trace.id for trace in traces if trace is not None]
    assert ids[:2] == [ID, ID]
    assert ids[2] not in {"a" * 32, "b" * 32}, "of several traces none stands for the others"
    assert len({trace.span for trace in traces if trace is not None}) == 3
