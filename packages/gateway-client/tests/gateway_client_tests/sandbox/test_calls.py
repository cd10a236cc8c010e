"""What the sandbox remembers of the calls that it was asked."""

from decimal import Decimal

from gateway_client.sandbox.scripting import FaultRule
from gateway_client_tests.sandbox.harness import SUCCESS, Harness


async def test_a_call_is_kept_with_its_order_and_amount(harness: Harness) -> None:
    await harness.merchant.pay_hosted("mugs", "249.90")
    created = (await harness.control.calls())[-1]
    assert (created.http_method, created.path, created.http_status) == ("POST", "/api/v1/payment", 303)
    assert (created.order_id, created.amount, created.currency) == ("mugs", Decimal("249.90"), "UAH")
    assert created.seconds is not None


async def test_no_card_and_no_person_is_kept(harness: Harness) -> None:
    await harness.merchant.pay_direct("mugs", card=SUCCESS)
    kept = (await harness.control.calls())[-1].model_dump_json()
    assert '"order_id":"mugs"' in kept
    for secret in (SUCCESS, "ann@example.com", "Lee"):
        assert secret not in kept


async def test_what_the_caller_saw_is_kept(harness: Harness) -> None:
    await harness.control.fault(FaultRule(effect="status", status=503, moment="after", path="/api/v1/payment"))
    await harness.merchant.pay_hosted("mugs", "249.90")
    assert (await harness.control.calls())[-1].http_status == 503


async def test_a_reset_forgets_calls(harness: Harness) -> None:
    await harness.merchant.pay_hosted("mugs", "249.90")
    await harness.control.reset()
    assert await harness.control.calls() == []
