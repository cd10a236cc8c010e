"""Staff charge a reservation in parts and release it, where a partial capture leaves the rest reserved."""

from typing import Any

import pytest

from app.core.vocabulary import Kind, State
from integration_base_tests.loopback import Behaviour, HangUp, ReceivedRequest, json_reply
from tests.payments.fake_gateway import BROKEN, action_of, operation
from tests.payments.fake_saleor import amounts
from tests.payments.shop import TOTAL, Shop

REST = "469.50"


@pytest.fixture
async def keeping(reserved_shop: Shop) -> Shop:
    """A shop whose shopper has reserved 569.50, at a gateway where the rest of a partial charge stays reserved."""
    accounts = reserved_shop.services.accounts
    reserved_shop.account = await accounts.change(reserved_shop.account.id, part_capture="keeps_rest")
    return reserved_shop


def done(shop: Shop, method: str, amount: str, **more: Any) -> dict[str, Any]:
    """Return the record of what the gateway does now."""
    record = operation(method, shop.order_id, amount, **more)
    shop.gateway.book[shop.order_id].append(record)
    return record


def voids(shop: Shop, amount: str, answer: Behaviour | None = None) -> None:
    """Let the gateway release what it holds when it is asked; None: it answers with the record."""
    record = operation("void", shop.order_id, amount)

    async def release(request: ReceivedRequest) -> None:
        if action_of(request) == "void":
            shop.gateway.book[shop.order_id].append(record)

    shop.gateway.on_request = release
    shop.gateway.will_answer(answer or json_reply(record))


@pytest.mark.law(3)
@pytest.mark.parametrize("void", [None, HangUp(), BROKEN], ids=["answered", "hung up", "500"])
async def test_a_release_that_waited_for_a_charge_which_failed_releases_everything(
    keeping: Shop, void: Behaviour | None
) -> None:
    """It was requested for the rest beside the charge; now the gateway releases that part as well."""
    keeping.gateway.will_answer(HangUp())
    await keeping.request_action("CHARGE", "100.00", "first")
    assert (await keeping.request_action("CANCEL", REST, "second")).result is None
    voids(keeping, TOTAL, void)
    await keeping.pass_time(hours=6)
    assert keeping.gateway.calls == ["capture", "void"]
    assert (await keeping.operation(Kind.CAPTURE)).state is State.FAILURE
    assert (await keeping.operation(Kind.VOID)).state is State.SUCCESS
    assert keeping.amounts == amounts(canceled=TOTAL)
    assert keeping.transaction.actions == []


@pytest.mark.law(3)
async def test_a_release_that_waited_for_a_charge_releases_the_rest(keeping: Shop) -> None:
    keeping.gateway.will_answer(HangUp())
    await keeping.request_action("CHARGE", "100.00", "first")
    await keeping.request_action("CANCEL", REST, "second")
    done(keeping, "capture", "100.00")
    voids(keeping, REST)
    await keeping.pass_time(hours=6)
    assert keeping.amounts == amounts(charged="100.00", canceled=REST)


@pytest.mark.parametrize("action", ["CHARGE", "CANCEL"])
async def test_while_the_rest_is_being_released_staff_are_told_so(keeping: Shop, action: str) -> None:
    keeping.gateway.will_answer(json_reply(done(keeping, "capture", "100.00")))
    await keeping.request_action("CHARGE", "100.00", "first")
    keeping.gateway.will_answer(HangUp())
    await keeping.request_action("CANCEL", REST, "second")
    answer = await keeping.request_action(action, "50.00", "third")
    assert answer.result == f"{action}_FAILURE"
    assert (answer.message or "").startswith("The authorization of 469.50 UAH is being released right now: ")
