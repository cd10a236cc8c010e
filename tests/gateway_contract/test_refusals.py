"""How the gateway says no (gateway interface, Errors and what it does not show)."""

from dataclasses import replace
from decimal import Decimal

import pytest

from app.gateway.errors import BadCredentialsError, DuplicateOrderError, NotFoundError, RateLimitedError, RefusedError
from app.gateway.models import Status, Void
from app.sandbox.scripting import FaultRule
from tests.gateway_contract.account import NOBODY
from tests.gateway_contract.requests import a_card, a_page
from tests.gateway_contract.stage import Stage


@pytest.mark.reads_only
async def test_wrong_keys(stage: Stage) -> None:
    await stage.client.check_credentials(timeout=stage.timeout)
    right = stage.credentials
    for wrong in (
        replace(right, api_secret="wrong"),
        replace(right, endpoints_key="wrong"),
        replace(right, api_key="wrong"),
        replace(right, pos_id=NOBODY),
    ):
        with pytest.raises(BadCredentialsError):
            await stage.client_of(wrong).check_credentials(timeout=stage.timeout)
    with pytest.raises(BadCredentialsError):
        await stage.client_of(replace(right, api_secret="wrong")).balances.accounts(timeout=stage.timeout)


async def test_an_order_id_is_good_for_one_payment(stage: Stage) -> None:
    await stage.client.create_hosted(a_page(stage, "twice"), timeout=stage.timeout)
    with pytest.raises(DuplicateOrderError) as refused:
        await stage.client.create_hosted(a_page(stage, "twice"), timeout=stage.timeout)
    assert refused.value.order_id == stage.order_id("twice")


async def test_an_amount_beyond_the_terminals_limit(stage: Stage) -> None:
    with pytest.raises(RefusedError) as refused:
        await stage.client.create_hosted(a_page(stage, "much", amount=Decimal("99999999.99")), timeout=stage.timeout)
    assert not isinstance(refused.value, DuplicateOrderError | NotFoundError | BadCredentialsError | RateLimitedError)
    assert [violation.field for violation in refused.value.violations] == ["amount"]


async def test_a_payment_that_is_not_reserved_cannot_be_released(stage: Stage) -> None:
    paid = await stage.client.create_direct(a_card(stage, "state"), timeout=stage.timeout)
    assert paid.status is Status.SUCCESS
    request = Void(order_id=paid.order_id, order_currency=stage.currency)
    # Gateways answer one way or the other, and either way nothing happened.
    outcome: Status | type[RefusedError]
    try:
        outcome = (await stage.client.void(request, timeout=stage.timeout)).status
    except RefusedError as refused:
        outcome = type(refused)
    assert outcome in {Status.FAILURE, RefusedError}
    (only,) = await stage.client.order(paid.order_id, timeout=stage.timeout)
    assert only.payment_id == paid.payment_id


@pytest.mark.sandbox_only("a gateway may decline this in a record instead")
async def test_the_other_way_to_refuse_is_a_record(stage: Stage) -> None:
    await stage.hands.set_up(refusal="record")
    paid = await stage.client.create_direct(a_card(stage, "record"), timeout=stage.timeout)
    void = await stage.client.void(Void(order_id=paid.order_id, order_currency=stage.currency), timeout=stage.timeout)
    assert (void.status, void.status_code) == (Status.FAILURE, "4150")


@pytest.mark.reads_only
async def test_what_is_not_there(stage: Stage) -> None:
    with pytest.raises(NotFoundError):
        await stage.client.balances.account(NOBODY, timeout=stage.timeout)
    with pytest.raises(NotFoundError):
        await stage.client.cancel(stage.order_id("never"), timeout=stage.timeout)


@pytest.mark.sandbox_only("no gateway should be flooded for a test")
async def test_too_many_requests(stage: Stage) -> None:
    for headers, pause in (({"Retry-After": "7"}, 7.0), ({}, None)):
        await stage.hands.spoil(FaultRule(effect="status", status=429, headers=headers))
        with pytest.raises(RateLimitedError) as refused:
            await stage.client.create_hosted(a_page(stage, "many"), timeout=stage.timeout)
        assert refused.value.pause == pause
