"""What follows from a request of Saleor's: on paper."""

from dataclasses import replace
from decimal import Decimal

import pytest

from app.core.payment import Operation, PaymentAggregate
from app.core.request import RequestDetails
from app.core.vocabulary import CloseReason, Flow, Kind, State
from app.rules.action_request import ActionRequest
from app.rules.addresses import Addresses, PaymentPage
from app.rules.decisions.action import ActionRepeated, ActionRequested
from app.rules.refusal import RefusalError
from app.rules.split.choice import choose_next_refund_split
from saleor_app_sdk.events import GrantedRefund
from saleor_app_sdk.responses import AvailableAction
from tests.payments.aggregates import HUNDRED, NOON, ORDER, an_aggregate, an_operation, decision_context
from tests.payments.split.people import POTTER, SMITH

REFUND = ActionRequest(AvailableAction.REFUND, Decimal("40.00"), "UAH", keys=("key",), digest="digest")
PAGE = PaymentPage(Addresses("https://app.example"), "https://saleor.example/graphql/")


def requested(*, keys_open: bool = True) -> ActionRequested:
    """Return the request, of an account whose keys open or do not."""
    return ActionRequested(REFUND, decision_context(), opens_keys=lambda _payment: keys_open)


@pytest.mark.law(1)
def test_request_for_an_account_whose_keys_do_not_open_is_refused_and_leaves_nothing() -> None:
    aggregate = an_aggregate(Flow.CHARGE, State.SUCCESS)
    with pytest.raises(RefusalError, match="keys"):
        requested(keys_open=False).decide(aggregate)
    assert [operation.kind for operation in aggregate.operations] == ["create"]
    assert aggregate.events == []


@pytest.mark.law(4)
def test_request_that_is_known_is_answered_although_the_keys_do_not_open() -> None:
    aggregate = an_aggregate(Flow.CHARGE, State.SUCCESS)
    first = requested().decide(aggregate)
    assert (first.is_new, first.operation.state) == (True, State.INTENT)
    again = requested(keys_open=False).decide(aggregate)
    assert (again.is_new, again.operation) == (False, first.operation)


def operation_for(aggregate: PaymentAggregate, request: ActionRequest) -> Operation:
    return ActionRequested(request, decision_context(), opens_keys=lambda _payment: True).decide(aggregate).operation


@pytest.mark.law(3)
@pytest.mark.parametrize("before", [State.WAITING, State.INTENT, State.UNKNOWN, State.PENDING, State.SUCCESS])
def test_request_waits_for_what_is_in_flight_and_for_what_waits(before: State) -> None:
    """The first that waits is due in a moment: the second must not overtake it."""
    earlier = an_operation(Kind.REFUND, before, Decimal("1.00"))
    refund = operation_for(an_aggregate(Flow.CHARGE, State.SUCCESS, earlier), REFUND)
    assert refund.state is (State.INTENT if before is State.SUCCESS else State.WAITING)


@pytest.mark.law(9)
@pytest.mark.parametrize(("by", "is_answered"), [(None, True), ("staff@shop.test", False)])
def test_only_a_request_that_saleor_is_answered_needs_a_reference_before_its_turn(
    by: str | None, *, is_answered: bool
) -> None:
    """That of staff in the app is reported later, under the gateway's."""
    aggregate = an_aggregate(Flow.CHARGE, State.SUCCESS, an_operation(Kind.REFUND, State.PENDING, Decimal("1.00")))
    waiting = operation_for(aggregate, replace(REFUND, by=by))
    assert (waiting.state, waiting.psp_reference is not None) == (State.WAITING, is_answered)


@pytest.mark.parametrize(("amount", "is_full"), [(HUNDRED, True), (Decimal("99.99"), False)])
def test_a_refund_is_full_that_takes_all_that_was_charged(amount: Decimal, is_full: bool) -> None:
    refund = operation_for(an_aggregate(Flow.CHARGE, State.SUCCESS), replace(REFUND, amount=amount))
    assert refund.requested.is_full is is_full


@pytest.mark.parametrize("captures", [["100.00"], ["60.00", "40.00"]])
def test_only_a_refund_is_full_and_only_of_one_charge(captures: list[str]) -> None:
    """The gateway may count otherwise what was captured in parts."""
    reserved = an_aggregate(Flow.AUTHORIZATION, State.SUCCESS)
    capture = operation_for(reserved, replace(REFUND, action=AvailableAction.CHARGE, amount=HUNDRED))
    assert (capture.kind, capture.requested.is_full) == (Kind.CAPTURE, False)
    done = [an_operation(Kind.CAPTURE, State.SUCCESS, Decimal(each), keeps_rest=True) for each in captures]
    captured = an_aggregate(Flow.AUTHORIZATION, State.SUCCESS, *done)
    assert operation_for(captured, replace(REFUND, amount=HUNDRED)).requested.is_full is (len(captures) == 1)


@pytest.mark.parametrize(("by", "reason"), [("staff@shop.test", CloseReason.BY_STAFF), (None, None)])
def test_a_page_that_staff_close_says_so_and_one_that_saleor_cancels_does_not(
    by: str | None, reason: CloseReason | None
) -> None:
    cancel = replace(REFUND, action=AvailableAction.CANCEL, amount=Decimal(0), by=by)
    assert operation_for(an_aggregate(Flow.CHARGE, State.INIT), cancel).close_reason is reason
    paid = an_aggregate(Flow.CHARGE, State.SUCCESS)
    assert operation_for(paid, replace(REFUND, by=by)).close_reason is None


@pytest.mark.law(4)
def test_a_repetition_requests_the_same_action_over_the_same_amount() -> None:
    first = operation_for(an_aggregate(Flow.CHARGE, State.SUCCESS), REFUND)
    assert REFUND.is_repeated_by(first)
    assert not replace(REFUND, amount=Decimal("39.99")).is_repeated_by(first)
    assert not replace(REFUND, action=AvailableAction.CHARGE).is_repeated_by(first)


@pytest.mark.law(4)
def test_a_repeated_cancelation_is_the_same_whatever_amount_is_released() -> None:
    """Saleor states what it believes to be reserved; the gateway releases all of it."""
    reserved = an_aggregate(Flow.AUTHORIZATION, State.SUCCESS)
    cancel = replace(REFUND, action=AvailableAction.CANCEL, amount=Decimal(0))
    void = operation_for(reserved, cancel)
    assert (void.kind, void.amount) == (Kind.VOID, HUNDRED)
    assert operation_for(reserved, replace(cancel, digest="another")) is void


@pytest.mark.law(4)
@pytest.mark.parametrize("chosen_before", [True, False])
def test_a_repetition_by_staff_takes_the_refund_from_the_same_sub_merchants(*, chosen_before: bool) -> None:
    """Who leaves the shares to an earlier choice, or to the rules, requests the same when the form is sent again."""
    aggregate = an_aggregate(Flow.CHARGE, State.SUCCESS)
    aggregate.create.shares = {POTTER: HUNDRED}
    taken = {POTTER: REFUND.amount}
    request = replace(REFUND, by="staff@shop.test", required_kind=Kind.REFUND, digest="", taken_from=taken)
    if chosen_before:
        choose_next_refund_split(aggregate, taken, NOON)
        request = replace(request, taken_from=None)
    first = operation_for(aggregate, request)
    assert first.requested.chosen_shares == taken
    assert operation_for(aggregate, request) is first
    capture = {"action": AvailableAction.CHARGE, "required_kind": Kind.CAPTURE}
    for different in ({"taken_from": {SMITH: REFUND.amount}}, {"charge_id": "later"}, {"amount": HUNDRED}, capture):
        with pytest.raises(RefusalError, match="already requested"):
            operation_for(aggregate, replace(request, **different))


@pytest.mark.law(4)
@pytest.mark.parametrize(
    ("digest", "keys", "is_answered"),
    [
        ("digest", ["key", "other"], True),
        ("digest", ["other"], True),
        ("another", ["key"], True),
        ("", ["key"], True),
        ("another", ["key", "other"], False),
        ("", ["other"], False),
    ],
)
def test_a_request_that_met_an_error_is_answered_from_the_record_that_is_certainly_its_own(
    digest: str, keys: list[str], *, is_answered: bool
) -> None:
    """With several keys it may be one that is not recorded: another's outcome is no answer to it."""
    aggregate = an_aggregate(Flow.CHARGE, State.SUCCESS)
    refund = operation_for(aggregate, REFUND)
    repeated = ActionRepeated(AvailableAction.REFUND, keys, digest, PAGE, decision_context()).decide(aggregate)
    assert (None if repeated is None else repeated.psp_reference) == (refund.psp_reference if is_answered else None)
    context = decision_context()
    due = context.schedule.first_reading_check if is_answered else context.schedule.answer_window
    assert (refund.psp_reference is not None, refund.answer_awaited_until) == (is_answered, context.now + due)


@pytest.mark.law(4)
@pytest.mark.parametrize(("made", "told"), [(None, 0), ("40.00", 0), ("39.00", 1)])
def test_only_a_grant_whose_amount_has_changed_since_its_refund_is_for_staff(made: str | None, told: int) -> None:
    """A version before this one has not stored what was requested."""
    details = RequestDetails() if made is None else RequestDetails(amount=Decimal(made))
    refund = an_operation(Kind.REFUND, State.SUCCESS, Decimal("40.00"), granted_refund_id="grant")
    refund.request = details.write(ORDER, "UAH")
    aggregate = an_aggregate(Flow.CHARGE, State.SUCCESS, refund)
    again = replace(REFUND, keys=("once more",), digest="another", granted=GrantedRefund(id="grant"))
    assert operation_for(aggregate, again) is refund
    assert len(aggregate.payment.problems) == told
