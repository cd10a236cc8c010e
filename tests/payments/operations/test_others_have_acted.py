"""Somebody else acts in the merchant portal, and its notification is lost: one look after each operation finds it."""

from decimal import Decimal

import pytest

from app.core.vocabulary import Kind, State
from app.rules.call_errors import is_state_conflict
from app.rules.problems import problem_text
from gateway_client.errors import (
    BadCredentialsError,
    NotFoundError,
    NotSentError,
    OutcomeUnknownError,
    RateLimitedError,
    RefusedError,
    Violation,
)
from integration_base_tests.loopback import Behaviour, HangUp, Reply, json_reply
from tests.payments.fake_gateway import operation, refusal_reply
from tests.payments.fake_saleor import amounts
from tests.payments.shop import Shop

WRONG_STATE = json_reply(
    {"message": "Operation is not possible", "args": {"code": "P-4150", "status_code": "4150"}}, 400
)
TOO_MUCH = json_reply(
    {"message": "Too much", "args": [{"field_name": "refund_amount", "violation": "at most 69.50"}]}, 400
)


def void_in_the_portal(shop: Shop) -> None:
    shop.gateway.book[shop.order_id].append(operation("void", shop.order_id, "569.50", operation_id="portal"))


@pytest.mark.law(10)
@pytest.mark.parametrize("answer", [WRONG_STATE, refusal_reply("No", "4150"), refusal_reply("No", "4139"), TOO_MUCH])
async def test_a_charge_of_what_was_voided_in_the_portal(reserved_shop: Shop, answer: Reply) -> None:
    """Saleor is told with the answer that nothing is left: it must not go on offering what is gone."""
    reserved_shop.saleor.order(reserved_shop.transaction)
    void_in_the_portal(reserved_shop)
    polls = reserved_shop.gateway.polls
    reserved_shop.gateway.will_answer(answer)
    said_to_saleor = await reserved_shop.request_action("CHARGE", "100.00", "one")
    assert said_to_saleor.result == "CHARGE_FAILURE"
    assert said_to_saleor.actions == ()
    assert reserved_shop.gateway.polls == polls + 1
    await reserved_shop.pass_time(minutes=1)
    assert reserved_shop.amounts == amounts(authorized="0.00", canceled="569.50")
    await reserved_shop.pass_time(days=2)
    assert reserved_shop.gateway.polls == polls + 1


@pytest.mark.law(10)
async def test_a_refund_of_what_was_refunded_in_the_portal(paid_shop: Shop) -> None:
    paid_shop.record_refund("500.00", "portal")
    paid_shop.gateway.will_answer(TOO_MUCH)
    answer = await paid_shop.request_action("REFUND", "100.00", "one")
    assert (answer.result, answer.actions) == ("REFUND_FAILURE", ("REFUND",))
    await paid_shop.pass_time(minutes=1)
    assert paid_shop.amounts == amounts(charged="69.50", refunded="500.00")


@pytest.mark.law(10)
async def test_a_refusal_is_no_other_operation_of_the_same_amount(paid_shop: Shop) -> None:
    """The portal has refunded just what we ask for: ours was refused, and theirs counts as theirs."""
    paid_shop.record_refund("500.00", "portal")
    paid_shop.gateway.will_answer(WRONG_STATE)
    answer = await paid_shop.request_action("REFUND", "500.00", "one")
    assert answer.result == "REFUND_FAILURE"
    ours, theirs = await paid_shop.operation(Kind.REFUND, 0), await paid_shop.operation(Kind.REFUND, 1)
    assert (ours.state, theirs.state, theirs.operation_id) == (State.FAILURE, State.SUCCESS, "portal")


@pytest.mark.law(10)
@pytest.mark.parametrize("trouble", [HangUp(), Reply(500), Reply(403, b"<html>")])
async def test_if_it_cannot_be_looked_up_at_once_it_is_soon(reserved_shop: Shop, trouble: Behaviour) -> None:
    void_in_the_portal(reserved_shop)
    reserved_shop.gateway.will_answer(WRONG_STATE)
    reserved_shop.gateway.will_answer_look_ups(trouble)
    assert (await reserved_shop.request_action("CHARGE", "100.00", "one")).result == "CHARGE_FAILURE"
    await reserved_shop.pass_time(minutes=5)
    assert reserved_shop.amounts == amounts(authorized="0.00", canceled="569.50")


@pytest.mark.law(2, 10)
async def test_a_look_up_that_can_be_read_by_half_is_made_again(reserved_shop: Shop) -> None:
    """What cannot be read may be just what somebody else has done."""
    void_in_the_portal(reserved_shop)
    paid, void = reserved_shop.gateway.book[reserved_shop.order_id]
    reserved_shop.gateway.will_answer(WRONG_STATE)
    reserved_shop.gateway.will_answer_look_ups(json_reply([paid, void | {"amount": "much"}]))
    assert (await reserved_shop.request_action("CHARGE", "100.00", "one")).result == "CHARGE_FAILURE"
    await reserved_shop.pass_time(minutes=5)
    assert reserved_shop.amounts == amounts(authorized="0.00", canceled="569.50")


@pytest.mark.law(2, 10)
async def test_a_record_that_says_failure_for_the_same_reason(paid_shop: Shop) -> None:
    paid_shop.record_refund("500.00", "portal")
    paid_shop.gateway.will_answer(
        json_reply(
            operation("refund", paid_shop.order_id, "100.00", "failure", operation_id="ours", status_code="4139")
        )
    )
    polls = paid_shop.gateway.polls
    await paid_shop.request_action("REFUND", "100.00", "one")
    assert paid_shop.gateway.polls == polls + 1
    await paid_shop.pass_time(minutes=1)
    assert paid_shop.amounts == amounts(charged="69.50", refunded="500.00")


@pytest.mark.parametrize(
    ("error", "acted"),
    [
        (RefusedError("no", status_code="4150"), True),
        (RefusedError("no", status_code="4139"), True),
        (RefusedError("no", violations=(Violation("charge_amount", "too much"),)), True),
        (NotFoundError("no such payment"), True),
        (RefusedError("no", status_code="4152"), False),
        (RefusedError("no", violations=(Violation("comment", "too long"),)), False),
        (RateLimitedError("wait"), False),
        (BadCredentialsError("no"), False),
        (NotSentError("no connection"), False),
        (OutcomeUnknownError("?"), False),
    ],
)
def test_which_refusals_tell_of_others(error: Exception, acted: bool) -> None:
    assert is_state_conflict(error) is acted  # type: ignore[arg-type] # each is an error of the gateway


class TestOneLookAfterEach:
    @pytest.fixture(autouse=True)
    def _its_order_is_placed(self, paid_shop: Shop) -> None:
        """As long as nobody completes a paid checkout, the worker asks Saleor for its order each hour."""
        paid_shop.saleor.order(paid_shop.transaction)

    @pytest.mark.fault("notification-lost")
    @pytest.mark.law(10)
    async def test_what_the_portal_did_in_silence_is_found(self, paid_shop: Shop) -> None:
        paid_shop.record_refund("100.00", "portal")
        polls = paid_shop.gateway.polls
        paid_shop.gateway.will_answer(json_reply(operation("refund", paid_shop.order_id, "20.00", operation_id="ours")))
        paid_shop.gateway.book[paid_shop.order_id].append(
            operation("refund", paid_shop.order_id, "20.00", operation_id="ours")
        )
        assert (await paid_shop.request_action("REFUND", "20.00", "one")).result == "REFUND_SUCCESS"
        await paid_shop.pass_time(minutes=1)
        assert paid_shop.amounts == amounts(charged="449.50", refunded="120.00")
        assert paid_shop.gateway.polls == polls + 1

    @pytest.mark.law(10)
    async def test_it_is_one_and_no_more(self, paid_shop: Shop) -> None:
        """Its price: one read for each capture, void, refund and cancellation, and none for anything else."""
        polls = paid_shop.gateway.polls
        paid_shop.gateway.will_answer(json_reply(operation("refund", paid_shop.order_id, "20.00", operation_id="ours")))
        await paid_shop.request_action("REFUND", "20.00", "one")
        await paid_shop.notify(operation("refund", paid_shop.order_id, "20.00", operation_id="ours"))
        await paid_shop.pass_time(days=3)
        assert paid_shop.gateway.polls == polls + 1

    async def test_one_look_is_enough_for_what_had_ended_before_it(self, paid_shop: Shop) -> None:
        polls = paid_shop.gateway.polls
        for number in range(3):
            paid_shop.gateway.will_answer(
                json_reply(operation("refund", paid_shop.order_id, "20.00", operation_id=f"ours-{number}"))
            )
            assert (await paid_shop.request_action("REFUND", "20.00", f"key-{number}")).result == "REFUND_SUCCESS"
            paid_shop.clock.forward(seconds=4)
        await paid_shop.pass_time(days=1)
        assert paid_shop.gateway.polls == polls + 1

    async def test_also_where_a_notification_told_how_it_ended(self, paid_shop: Shop) -> None:
        paid_shop.gateway.will_answer(
            json_reply(operation("refund", paid_shop.order_id, "20.00", "pending", operation_id="ours"))
        )
        await paid_shop.request_action("REFUND", "20.00", "one")
        polls = paid_shop.gateway.polls
        await paid_shop.notify(operation("refund", paid_shop.order_id, "20.00", operation_id="ours"))
        paid_shop.record_refund("100.00", "portal")
        await paid_shop.pass_time(days=3)
        assert paid_shop.amounts == amounts(charged="449.50", refunded="120.00")
        assert paid_shop.gateway.polls == polls + 1

    async def test_a_repeated_word_brings_no_further_look(self, paid_shop: Shop) -> None:
        """The gateway may say the same as often as it likes: of what is on its way, and of what has ended."""
        paid_shop.gateway.will_answer(
            json_reply(operation("refund", paid_shop.order_id, "20.00", "pending", operation_id="ours"))
        )
        await paid_shop.request_action("REFUND", "20.00", "one")
        polls = paid_shop.gateway.polls
        await paid_shop.notify(operation("refund", paid_shop.order_id, "20.00", "pending", operation_id="ours"))
        await paid_shop.pass_time(seconds=40)
        assert paid_shop.gateway.polls == polls
        await paid_shop.notify(operation("refund", paid_shop.order_id, "20.00", operation_id="ours"))
        await paid_shop.pass_time(days=1)
        assert paid_shop.gateway.polls == polls + 1
        await paid_shop.notify(
            operation("refund", paid_shop.order_id, "20.00", operation_id="ours", processed_at="2026-11-22T12:00")
        )
        await paid_shop.pass_time(days=1)
        assert paid_shop.gateway.polls == polls + 1

    async def test_what_others_did_is_not_followed_by_a_look(self, paid_shop: Shop) -> None:
        polls = paid_shop.gateway.polls
        await paid_shop.notify(operation("refund", paid_shop.order_id, "20.00", operation_id="portal"))
        await paid_shop.pass_time(days=3)
        assert paid_shop.gateway.polls == polls
        assert (await paid_shop.operation(Kind.REFUND)).amount == Decimal("20.00")

    async def test_a_gateway_that_does_not_answer_is_not_asked_for_ever(self, paid_shop: Shop) -> None:
        paid_shop.gateway.will_answer(json_reply(operation("refund", paid_shop.order_id, "20.00", operation_id="ours")))
        await paid_shop.request_action("REFUND", "20.00", "one")
        paid_shop.gateway.will_answer_look_ups(*[Reply(500)] * 500)
        await paid_shop.pass_time(days=2)
        polls = paid_shop.gateway.polls
        await paid_shop.pass_time(days=30)
        assert paid_shop.gateway.polls == polls
        assert (await paid_shop.operation(Kind.REFUND)).next_poll_at is None
        assert problem_text((await paid_shop.aggregate()).payment) is None  # what came of it is known


class TestWhileOneWaitsForItsTurn:
    """Two members of staff refund in the same second, one here and one in Saleor, and a third one in the portal."""

    @pytest.fixture
    async def refunds(self, paid_shop: Shop) -> Shop:
        """A shop where 300.00 are refunded, 200.00 wait for that, and 200.00 are refunded in the portal meanwhile."""
        shop, name = paid_shop, paid_shop.order_id
        shop.gateway.will_answer(json_reply(operation("refund", name, "300.00", "pending", operation_id="first")))
        await shop.request_action("REFUND", "300.00", "one")
        assert (await shop.request_action("REFUND", "200.00", "two")).result is None
        await shop.notify(operation("refund", name, "200.00", operation_id="portal"))
        await shop.notify(operation("refund", name, "300.00", operation_id="first"))
        await shop.pass_time(minutes=10)
        return shop

    @pytest.mark.law(3)
    async def test_a_refund_of_more_than_is_left_now_is_not_sent(self, refunds: Shop) -> None:
        assert refunds.gateway.calls == ["refund"]
        assert refunds.amounts == amounts(charged="69.50", refunded="500.00")
        refused = await refunds.operation(Kind.REFUND, 1)
        assert (refused.state, "69.50 UAH" in (refused.message or "")) == (State.FAILURE, True)
        assert refunds.saleor.reported_types.count("REFUND_FAILURE") == 1
        assert refunds.transaction.actions == ["REFUND"]

    @pytest.mark.law(8)
    async def test_what_only_waited_has_overdrawn_nothing(self, refunds: Shop) -> None:
        assert problem_text((await refunds.aggregate()).payment) is None


@pytest.mark.law(8)
async def test_too_much_beside_a_refund_that_fails_then_is_no_problem_any_more(paid_shop: Shop) -> None:
    shop, name = paid_shop, paid_shop.order_id
    shop.gateway.will_answer(json_reply(operation("refund", name, "300.00", "pending", operation_id="ours")))
    await shop.request_action("REFUND", "300.00", "one")
    await shop.notify(operation("refund", name, "400.00", "pending", operation_id="portal"))
    await shop.notify(operation("refund", name, "300.00", operation_id="ours"))
    await shop.pass_time(minutes=10)
    assert "not enough left for it" in (problem_text((await shop.aggregate()).payment) or "")
    await shop.notify(operation("refund", name, "400.00", "failure", operation_id="portal"))
    await shop.pass_time(minutes=10)
    assert shop.amounts == amounts(charged="269.50", refunded="300.00")
    assert problem_text((await shop.aggregate()).payment) is None
