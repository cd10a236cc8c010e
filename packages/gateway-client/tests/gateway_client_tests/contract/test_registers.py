"""The register in two steps, and balances (gateway interface, 10 and 11)."""

from contextlib import aclosing
from datetime import timedelta

import pytest

from gateway_client.errors import ReportNotReadyError
from gateway_client.models import Method, Status
from gateway_client.models.reports import RegisterColumn, RegisterRequest, UnreadableLine
from gateway_client_tests.contract.harness import Harness
from gateway_client_tests.contract.requests import AMOUNT, a_card


def of_today(harness: Harness) -> RegisterRequest:
    """A register of the minutes around the story."""
    return RegisterRequest(
        start_date=harness.moment - timedelta(minutes=5),
        end_date=harness.moment + timedelta(minutes=5),
        statuses=(Status.SUCCESS,),
        methods=(Method.PURCHASE,),
        transaction_details=(
            RegisterColumn.ORDER_ID,
            RegisterColumn.AMOUNT,
            RegisterColumn.CURRENCY,
            RegisterColumn.STATUS,
            RegisterColumn.DATE_TIME,
        ),
    )


async def test_a_register_is_started_and_fetched(harness: Harness) -> None:
    paid = await harness.client.create_direct(a_card(harness, "register"), timeout=harness.timeout)
    ticket = await harness.client.reports.start(of_today(harness), timeout=harness.timeout)
    assert ticket.count
    async with aclosing(harness.client.reports.fetch(ticket, patience=120, timeout=harness.timeout)) as lines:
        rows = [line async for line in lines if not isinstance(line, UnreadableLine)]
    assert len(rows) == ticket.count
    (row,) = [row for row in rows if row.order_id == paid.order_id]
    assert (row.amount, row.currency, row.status) == (AMOUNT, harness.currency, Status.SUCCESS)
    assert row.date_time is not None


async def test_a_register_with_every_field(harness: Harness) -> None:
    paid = await harness.client.create_direct(a_card(harness, "whole-register"), timeout=harness.timeout)
    request = of_today(harness).model_copy(update={"transaction_details": tuple(RegisterColumn)})
    ticket = await harness.client.reports.start(request, timeout=harness.timeout)
    async with aclosing(harness.client.reports.fetch(ticket, patience=120, timeout=harness.timeout)) as lines:
        rows = [line async for line in lines if not isinstance(line, UnreadableLine)]
    (row,) = [row for row in rows if row.order_id == paid.order_id]
    assert (row.payment_id, row.original_amount, row.method) == (paid.payment_id, AMOUNT, Method.PURCHASE)


@pytest.mark.sandbox_only("how long a register takes is up to the gateway")
async def test_a_register_is_not_ready_at_once(harness: Harness) -> None:
    ticket = await harness.client.reports.start(of_today(harness), timeout=harness.timeout)
    async with aclosing(harness.client.reports.fetch(ticket, patience=0, timeout=harness.timeout)) as lines:
        with pytest.raises(ReportNotReadyError) as refused:
            await anext(lines)
    assert refused.value.code == "report_not_ready"


@pytest.mark.reads_only
async def test_balances(harness: Harness) -> None:
    accounts = await harness.client.balances.accounts(timeout=harness.timeout)
    account = accounts[0]
    assert len(account.currency) == 3
    one = await harness.client.balances.account(account.id, timeout=harness.timeout)
    assert (one.id, one.currency) == (account.id, account.currency)
    assert one.balances.available >= 0
