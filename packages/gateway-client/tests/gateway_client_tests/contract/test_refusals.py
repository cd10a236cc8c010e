"""How the gateway says no (gateway interface, Errors and what it does not show)."""

from dataclasses import replace
from decimal import Decimal

import pytest

from gateway_client.dialect import DialectName
from gateway_client.errors import (
    BadCredentialsError,
    DuplicateOrderError,
    NotFoundError,
    RateLimitedError,
    RefusedError,
)
from gateway_client.models import Status, Void
from gateway_client.sandbox.scripting import FaultRule
from gateway_client_tests.contract.account import FICTITIOUS
from gateway_client_tests.contract.harness import Harness
from gateway_client_tests.contract.requests import a_card, a_page


@pytest.mark.reads_only
async def test_wrong_keys(harness: Harness) -> None:
    await harness.client.check_credentials(timeout=harness.timeout)
    right = harness.credentials
    for wrong in (
        replace(right, api_secret="wrong"),
        replace(right, endpoints_key="wrong"),
        replace(right, api_key="wrong"),
        replace(right, pos_id=FICTITIOUS),
    ):
        with pytest.raises(BadCredentialsError):
            await harness.client_of(wrong).check_credentials(timeout=harness.timeout)
    with pytest.raises(BadCredentialsError):
        await harness.client_of(replace(right, api_secret="wrong")).balances.accounts(timeout=harness.timeout)


async def test_an_order_id_is_good_for_one_payment(harness: Harness) -> None:
    await harness.client.create_hosted(a_page(harness, "twice"), timeout=harness.timeout)
    with pytest.raises(DuplicateOrderError) as refused:
        await harness.client.create_hosted(a_page(harness, "twice"), timeout=harness.timeout)
    assert refused.value.order_id == harness.order_id("twice")


async def test_an_amount_beyond_the_terminals_limit(harness: Harness) -> None:
    with pytest.raises(RefusedError) as refused:
        await harness.client.create_hosted(
            a_page(harness, "much", amount=Decimal("99999999.99")), timeout=harness.timeout
        )
    assert not isinstance(refused.value, DuplicateOrderError | NotFoundError | BadCredentialsError | RateLimitedError)
    if harness.preset is DialectName.PUBLIC:
        assert [violation.field for violation in refused.value.violations] == ["amount"]
    assert "amount" in refused.value.message


async def test_a_payment_that_is_not_reserved_cannot_be_released(harness: Harness) -> None:
    paid = await harness.client.create_direct(a_card(harness, "state"), timeout=harness.timeout)
    assert paid.status is Status.SUCCESS
    request = Void(order_id=paid.order_id, order_currency=harness.currency)
    # Gateways answer one way or the other, and either way nothing happened.
    outcome: Status | type[RefusedError]
    try:
        outcome = (await harness.client.void(request, timeout=harness.timeout)).status
    except RefusedError as refused:
        outcome = type(refused)
    assert outcome in {Status.FAILURE, RefusedError}
    (only,) = await harness.client.get_order(paid.order_id, timeout=harness.timeout)
    assert only.payment_id == paid.payment_id


@pytest.mark.sandbox_only("a gateway may decline this in a record instead")
async def test_the_other_way_to_refuse_is_a_record(harness: Harness) -> None:
    await harness.hands.set_up(refusal="record")
    paid = await harness.client.create_direct(a_card(harness, "record"), timeout=harness.timeout)
    void = await harness.client.void(
        Void(order_id=paid.order_id, order_currency=harness.currency), timeout=harness.timeout
    )
    assert (void.status, void.status_code) == (Status.FAILURE, "4150")


@pytest.mark.reads_only
async def test_what_is_not_there(harness: Harness) -> None:
    with pytest.raises(NotFoundError):
        await harness.client.balances.account(FICTITIOUS, timeout=harness.timeout)
    with pytest.raises(NotFoundError):
        await harness.client.cancel(harness.order_id("never"), timeout=harness.timeout)


@pytest.mark.sandbox_only("no gateway should be flooded for a test")
async def test_too_many_requests(harness: Harness) -> None:
    for headers, pause in (({"Retry-After": "7"}, 7.0), ({}, None)):
        await harness.hands.inject_fault(FaultRule(effect="status", status=429, headers=headers))
        with pytest.raises(RateLimitedError) as refused:
            await harness.client.create_hosted(a_page(harness, "many"), timeout=harness.timeout)
        assert refused.value.pause == pause
