"""A Saleor becomes another version while apps are installed: the SDK's own calls, at a Saleor over HTTP."""

from dataclasses import replace
from decimal import Decimal

import pytest

from integration_base_tests.loopback import json_reply
from saleor_app_sdk.errors import SaleorRefusedError
from saleor_app_sdk.graphql import EventReport, SaleorClient
from saleor_app_sdk.payment_methods import CardDetails
from saleor_app_sdk.problems import AppProblem, report_problem
from saleor_app_sdk.responses import EventType
from saleor_app_sdk.testing import FakeSaleor
from saleor_app_sdk.testing.vocabulary import WebhookEvent
from saleor_app_sdk_tests.fake_saleor import Row
from saleor_app_sdk_tests.testing.stub import Stub
from saleor_app_sdk_tests.testing.test_orders import client, store

__all__ = ["client", "store"]


async def a_report(saleor: FakeSaleor) -> EventReport:
    """Return the end of a payment with a card, of which a Saleor before 3.22 does not know what to say."""
    session = await saleor.initialize((await saleor.create_checkout()).id)
    return EventReport(
        transaction_id=session.required_transaction.id,
        type=EventType.CHARGE_SUCCESS,
        psp_reference="p-1",
        amount=Decimal("569.50"),
        payment_method_details=CardDetails(name="Visa", last_digits="4242"),
    )


@pytest.mark.parametrize("kept", ["3.21", "3.22.67", "3.23.28"])
@pytest.mark.parametrize("really", ["3.21.69", "3.23.28"])
async def test_a_report_is_taken_by_a_saleor_that_is_another_than_one_thinks(
    client: SaleorClient, store: Row, saleor: FakeSaleor, kept: str, really: str
) -> None:
    """It was put back to a backup, or is in the midst of an upgrade: the money is told in any case."""
    await saleor.upgrade(really)
    report = await a_report(saleor)
    await client.report(replace(store, schema_version=kept), report)
    transaction = await saleor.transaction(report.transaction_id)
    assert transaction.amounts.charged == Decimal("569.50")
    assert (transaction.payment_method_details is not None) is (kept != "3.21" and really != "3.21.69")


async def test_what_no_saleor_understands_is_refused_as_ever(
    client: SaleorClient, store: Row, saleor: FakeSaleor
) -> None:
    report = replace_id(await a_report(saleor), "nonsense")
    with pytest.raises(SaleorRefusedError, match="GRAPHQL_ERROR"):
        await client.report(store, report)


def replace_id(report: EventReport, transaction_id: str) -> EventReport:
    return report.model_copy(update={"transaction_id": transaction_id})


async def test_a_22_from_before_there_were_problems(client: SaleorClient, store: Row, saleor: FakeSaleor) -> None:
    await saleor.upgrade("3.22.35")
    problem = AppProblem(key="keys:1", message="The gateway refuses the keys.")
    with pytest.raises(SaleorRefusedError):
        await report_problem(client, store, problem)
    await saleor.upgrade("3.22.36")
    await report_problem(client, store, problem)
    assert [problem["key"] for problem in (await saleor.apps())[0].problems] == ["keys:1"]


async def test_a_plain_refund_is_null_with_an_error_and_a_granted_one_is_not(
    saleor: FakeSaleor, installed: Stub, store: Row, client: SaleorClient
) -> None:
    report = await a_report(saleor)
    await client.report(store, report)
    installed.answer(WebhookEvent.TRANSACTION_REFUND_REQUESTED, json_reply({"pspReference": "r-1"}))
    await saleor.refund(report.transaction_id, Decimal(10))
    await saleor.wait_for_background()
    [heard] = installed.asked_for("transaction_refund_requested")
    assert heard.json["grantedRefund"] is None
    [error] = heard.json["errors"]
    assert error["path"][:2] == ["event", "grantedRefund"]
    assert error["message"].startswith("Cannot return null for non-nullable field OrderGrantedRefund.")
