"""What follows from a request of Saleor's: on paper."""

from dataclasses import replace
from datetime import timedelta
from decimal import Decimal

import pytest

from app.core.ids import GatewayOperationId
from app.core.payment import Operation, PaymentAggregate
from app.core.request import RequestDetails
from app.core.vocabulary import CloseReason, Flow, Kind, Origin, State
from app.rules.action_request import ActionRequest
from app.rules.addresses import Addresses, PaymentPage
from app.rules.balance import balance
from app.rules.decisions.action import ActionRepeated, ActionRequested, step_for
from app.rules.refusal import RefusalCode, RefusalError
from app.rules.split.choice import choose_next_refund_split
from app.store.tables import MerchantAccount
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
    done = [an_operation(Kind.CAPTURE, State.SUCCESS, Decimal(capture), keeps_rest=True) for capture in captures]
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
    assert [problem.gateway_id for problem in aggregate.payment.problems] == ["grant"] * told


STAFF = "staff@shop.test"
CANCEL = replace(REFUND, action=AvailableAction.CANCEL, amount=Decimal(0))
CHARGE = replace(REFUND, action=AvailableAction.CHARGE)


@pytest.mark.law(1)
@pytest.mark.parametrize(
    ("flow", "request_", "kind", "amount"),
    [
        (Flow.AUTHORIZATION, CHARGE, Kind.CAPTURE, "40.00"),
        (Flow.AUTHORIZATION, REFUND, Kind.REFUND, "40.00"),
        (Flow.CHARGE, CANCEL, Kind.CANCEL, "0"),
    ],
)
def test_what_is_not_possible_is_recorded_as_failed_for_saleor_and_refused_to_staff(
    flow: Flow, request_: ActionRequest, kind: Kind, amount: str
) -> None:
    """Whatever the keys: nothing is sent. When it is repeated, the answer is the same."""
    state = State.PENDING if flow is Flow.AUTHORIZATION else State.SUCCESS
    aggregate = an_aggregate(flow, state)
    found = ActionRequested(request_, decision_context(), opens_keys=lambda _payment: False).decide(aggregate)
    failed = found.operation
    assert (failed.kind, failed.state, failed.amount) == (kind, State.FAILURE, Decimal(amount))
    assert (failed.message is not None, failed.next_poll_at, failed.psp_reference is not None) == (True, None, True)
    aggregate = an_aggregate(flow, state)
    with pytest.raises(RefusalError):
        operation_for(aggregate, replace(request_, by=STAFF))
    assert len(aggregate.operations) == 1


@pytest.mark.law(14)
@pytest.mark.parametrize(
    ("amount", "words"),
    [
        ("0", "according to Saleor, nothing is left"),
        ("-1.00", "according to Saleor"),
        ("0.001", "more than two decimal places"),
    ],
)
def test_what_is_no_amount_is_recorded_nowhere(amount: str, words: str) -> None:
    aggregate = an_aggregate(Flow.CHARGE, State.SUCCESS)
    with pytest.raises(RefusalError, match=words):
        operation_for(aggregate, replace(REFUND, amount=Decimal(amount)))
    assert len(aggregate.operations) == 1


def test_saleor_reads_why_nothing_is_left_where_nothing_is() -> None:
    refunded = an_operation(Kind.REFUND, State.SUCCESS)
    with pytest.raises(RefusalError) as refused:
        operation_for(an_aggregate(Flow.CHARGE, State.SUCCESS, refunded), replace(REFUND, amount=Decimal(0)))
    assert "according to Saleor" not in refused.value.message


@pytest.mark.parametrize(("currency", "is_refused"), [("UAH", False), (None, False), ("EUR", True)])
def test_action_is_in_the_currency_of_the_payment(currency: str | None, *, is_refused: bool) -> None:
    aggregate = an_aggregate(Flow.CHARGE, State.SUCCESS)
    request = replace(REFUND, currency=currency)
    if is_refused:
        with pytest.raises(RefusalError) as refused:
            operation_for(aggregate, request)
        assert refused.value.code is RefusalCode.CURRENCY_NOT_SUPPORTED
    else:
        assert operation_for(aggregate, request).currency == "UAH"


@pytest.mark.parametrize(
    ("flow", "state", "required", "kind"),
    [
        (Flow.AUTHORIZATION, State.SUCCESS, Kind.VOID, Kind.VOID),
        (Flow.AUTHORIZATION, State.SUCCESS, Kind.CANCEL, None),
        (Flow.AUTHORIZATION, State.INIT, Kind.CANCEL, Kind.CANCEL),
        (Flow.AUTHORIZATION, State.INIT, Kind.VOID, None),
        (Flow.AUTHORIZATION, State.INIT, None, Kind.CANCEL),
        (Flow.CHARGE, State.SUCCESS, None, None),
    ],
)
def test_staff_cancel_what_they_have_seen(flow: Flow, state: State, required: Kind | None, kind: Kind | None) -> None:
    """The shopper may have paid in the meantime."""
    current = balance(flow, an_aggregate(flow, state).operations)
    if kind is None:
        with pytest.raises(RefusalError):
            step_for(AvailableAction.CANCEL, Decimal(0), current, required_kind=required)
    else:
        assert step_for(AvailableAction.CANCEL, Decimal(0), current, required_kind=required).kind is kind


@pytest.mark.law(4)
@pytest.mark.parametrize(
    ("is_retry", "state", "age", "is_new"),
    [
        (True, State.INTENT, 0, True),
        (True, State.INTENT, 1, False),
        (True, State.UNKNOWN, 0, False),
        (False, State.INTENT, 0, False),
    ],
)
def test_intent_is_sent_after_all_by_the_request_whose_own_commit_broke(
    state: State, age: int, *, is_retry: bool, is_new: bool
) -> None:
    """One of another delivery is being sent by that: its answer is not prepared here either."""
    aggregate = an_aggregate(Flow.CHARGE, State.SUCCESS)
    refund = operation_for(aggregate, REFUND)
    refund.state, refund.created_at = state, NOON - timedelta(seconds=age)
    refund.answer_awaited_until, refund.psp_reference = NOON + timedelta(minutes=1), None
    again = ActionRequested(REFUND, decision_context(), opens_keys=lambda _payment: True, is_retry=is_retry)
    found = again.decide(aggregate)
    assert (found.operation, found.is_new) == (refund, is_new)
    assert (refund.psp_reference is None) is is_new
    assert (refund.answer_awaited_until < NOON + timedelta(minutes=1)) is (state is not State.INTENT)


@pytest.mark.parametrize("by", [None, STAFF])
def test_saleor_is_told_at_once_of_what_it_has_not_requested(by: str | None) -> None:
    """It must not offer what is already being done."""
    aggregate = an_aggregate(Flow.CHARGE, State.SUCCESS)
    refund = operation_for(aggregate, replace(REFUND, by=by))
    assert (refund.requester, refund.asked_by_saleor, refund.asked_by) == (
        *(Origin.SALEOR if by is None else Origin.STAFF, by is None),
        by,
    )
    told = [] if by is None else ["Staff requested in the app to refund 40.00 UAH"]
    assert [event.message for event in aggregate.events] == told
    assert refund.next_poll_at == decision_context().schedule.intent_deadline(NOON)


@pytest.mark.parametrize(
    ("reasons", "comment"),
    [
        ({"key": "  Broken  "}, "Broken"),
        ({"key": "  "}, None),
        ({"other": "Broken"}, None),
        ({}, None),
        ({"key": "Card 4242 4242 4242 4242"}, "(left out: it contained what may be a card number)"),
    ],
)
def test_gateway_stores_the_reason_of_this_request(reasons: dict[str, str], comment: str | None) -> None:
    refund = operation_for(an_aggregate(Flow.CHARGE, State.SUCCESS), replace(REFUND, reasons=reasons))
    assert refund.requested.comment == comment


@pytest.mark.parametrize(("request_", "keeps"), [(CHARGE, True), (CANCEL, False)])
def test_capture_keeps_the_rest_where_the_dialect_says_so(request_: ActionRequest, *, keeps: bool) -> None:
    aggregate = an_aggregate(Flow.AUTHORIZATION, State.SUCCESS)
    account = aggregate.payment.account
    assert isinstance(account, MerchantAccount)
    account.dialect = "interface"
    assert operation_for(aggregate, request_).keeps_rest is keeps
    assert not operation_for(an_aggregate(Flow.AUTHORIZATION, State.SUCCESS), request_).keeps_rest  # its own dialect


@pytest.mark.parametrize("is_rest", [True, False])
def test_request_for_the_rest_is_stored_as_that(*, is_rest: bool) -> None:
    refund = operation_for(an_aggregate(Flow.CHARGE, State.SUCCESS), replace(REFUND, is_rest=is_rest))
    assert refund.requested.is_rest is is_rest
    assert refund.requested.amount == REFUND.amount


@pytest.mark.law(4)
def test_second_request_of_the_same_amount_is_another_one_by_its_key() -> None:
    aggregate = an_aggregate(Flow.CHARGE, State.SUCCESS)
    first = operation_for(aggregate, REFUND)
    first.state = State.SUCCESS
    second = operation_for(aggregate, replace(REFUND, keys=("key", "second"), digest="another"))
    assert (second is first, second.idempotency_key) == (False, "second")
    assert operation_for(aggregate, replace(REFUND, keys=("key",), digest="a third")) is first


@pytest.mark.law(4)
def test_granted_refund_is_made_once_whatever_its_key() -> None:
    grant = GrantedRefund(id="grant")
    aggregate = an_aggregate(Flow.CHARGE, State.SUCCESS)
    first = operation_for(aggregate, replace(REFUND, granted=grant))
    assert first.granted_refund_id == "grant"
    assert operation_for(aggregate, replace(REFUND, granted=grant, keys=("new",), digest="another")) is first
    assert operation_for(aggregate, replace(REFUND, granted=grant, keys=("key",), digest="a third")) is first
    assert [request["key"] for request in first.saleor_requests] == ["key", "new"]
    assert len(aggregate.operations) == 2


@pytest.mark.law(14)
@pytest.mark.parametrize(
    ("charge", "amount", "words"),
    [
        ("second", "30.00", None),
        ("second", "30.01", "at most"),
        ("second", "0.001", "more than two decimal places"),
        ("first", "30.01", None),
        ("third", "1.00", "nothing is left"),
        ("unknown", "1.00", "no such charge"),
    ],
)
def test_later_charge_is_refunded_by_itself(charge: str, amount: str, words: str | None) -> None:
    charges = [
        an_operation(Kind.RECURRING, State.SUCCESS, Decimal(sum_), operation_id=name, charge_id=name)
        for name, sum_ in (("first", "50.00"), ("second", "30.00"), ("third", "20.00"))
    ]
    refunded = an_operation(Kind.REFUND, State.SUCCESS, Decimal("20.00"), charge_id="third")
    aggregate = an_aggregate(Flow.CHARGE, State.SUCCESS, *charges, refunded)
    current = balance(Flow.CHARGE, aggregate.operations)
    if words is None:
        found = step_for(AvailableAction.REFUND, Decimal(amount), current, charge_id=GatewayOperationId(charge))
        assert (found.kind, found.amount) == (Kind.REFUND, Decimal(amount))
    else:
        with pytest.raises(RefusalError, match=words):
            step_for(AvailableAction.REFUND, Decimal(amount), current, charge_id=GatewayOperationId(charge))


def test_shares_of_a_request_are_recorded_with_it() -> None:
    aggregate = an_aggregate(Flow.CHARGE, State.SUCCESS)
    aggregate.create.shares = {POTTER: HUNDRED}
    assert operation_for(aggregate, REFUND).shares == {POTTER: REFUND.amount}


def test_second_capture_of_the_same_amount_is_no_full_refund() -> None:
    captured = an_operation(Kind.CAPTURE, State.SUCCESS, CHARGE.amount, keeps_rest=True)
    assert not operation_for(an_aggregate(Flow.AUTHORIZATION, State.SUCCESS, captured), CHARGE).requested.is_full
