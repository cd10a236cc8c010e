"""The register in two steps, and balances (gateway interface, 10 and 11)."""

from contextlib import aclosing
from datetime import timedelta

import pytest

from app.gateway.errors import ReportNotReadyError
from app.gateway.models import Method, Status
from app.gateway.models.reports import Detail, RegisterRequest, UnreadableLine
from tests.gateway_contract.requests import AMOUNT, a_card
from tests.gateway_contract.stage import Stage


def of_today(stage: Stage) -> RegisterRequest:
    """A register of the minutes around the story."""
    return RegisterRequest(
        start_date=stage.moment - timedelta(minutes=5),
        end_date=stage.moment + timedelta(minutes=5),
        statuses=(Status.SUCCESS,),
        methods=(Method.PURCHASE,),
        transaction_details=(Detail.ORDER_ID, Detail.AMOUNT, Detail.CURRENCY, Detail.STATUS, Detail.DATE_TIME),
    )


async def test_a_register_is_started_and_fetched(stage: Stage) -> None:
    paid = await stage.client.create_direct(a_card(stage, "register"), timeout=stage.timeout)
    ticket = await stage.client.reports.start(of_today(stage), timeout=stage.timeout)
    assert ticket.count
    async with aclosing(stage.client.reports.fetch(ticket, patience=120, timeout=stage.timeout)) as lines:
        rows = [line async for line in lines if not isinstance(line, UnreadableLine)]
    assert len(rows) == ticket.count
    (row,) = [row for row in rows if row.order_id == paid.order_id]
    assert (row.amount, row.currency, row.status) == (AMOUNT, stage.currency, Status.SUCCESS)
    assert row.date_time is not None


@pytest.mark.sandbox_only("how long a register takes is up to the gateway")
async def test_a_register_is_not_ready_at_once(stage: Stage) -> None:
    ticket = await stage.client.reports.start(of_today(stage), timeout=stage.timeout)
    async with aclosing(stage.client.reports.fetch(ticket, patience=0, timeout=stage.timeout)) as lines:
        with pytest.raises(ReportNotReadyError) as refused:
            await anext(lines)
    assert refused.value.code == "report_not_ready"


@pytest.mark.reads_only
async def test_balances(stage: Stage) -> None:
    accounts = await stage.client.balances.accounts(timeout=stage.timeout)
    account = accounts[0]
    assert len(account.currency) == 3
    one = await stage.client.balances.account(account.id, timeout=stage.timeout)
    assert (one.id, one.currency) == (account.id, account.currency)
    assert one.balances.available >= 0
