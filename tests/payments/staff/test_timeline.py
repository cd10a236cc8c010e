"""The timeline of a payment: who did what and when, what is waited for, nothing of the shopper."""

from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.core.notification import Outcome, OutcomeCode
from app.core.payment import Operation, PaymentAggregate
from app.core.vocabulary import EventState, Flow, Kind, State
from app.reports.descriptions import event_name
from app.reports.status import pending_steps, standing
from app.reports.timeline import Entry, Tone, timeline
from saleor_app_sdk.vocabulary import EventType
from tests.commands.books import ORDER, aggregate, event, moment_after, notification, operation


def told(entries: list[Entry]) -> list[str]:
    return [f"{entry.who}: {entry.words}" for entry in entries]


def test_a_payment_that_the_gateway_notified_of() -> None:
    create = operation(
        polls=2,
        polled_at=moment_after(seconds=9),
        updated_at=moment_after(seconds=2),
        message="Successful [1000]",
        status_code="1000",
    )
    entries = timeline(
        aggregate([create], [event(created_at=moment_after(seconds=3))], order_number="1042"),
        [notification(deliveries=3)],
    )

    assert told(entries) == [
        "Saleor: requests a payment for order 1042: 100.00 UAH, charged immediately",
        "app: asks the gateway for a payment page",
        "gateway: notifies (3 times): payment succeeded, 100.00 UAH: Successful [1000]",
        "app: records that the payment succeeded",
        "app: reports to Saleor: charge succeeded, 100.00 UAH; delivered after 2 attempts",
        "app: has looked up the payment 2 times so far",
    ]


def test_what_saleor_took_at_once_was_told_without_ado() -> None:
    entries = timeline(aggregate([operation()], [event(attempts=1)]), [])
    assert told(entries)[-1] == "app: reports to Saleor: charge succeeded, 100.00 UAH; delivered"


def test_without_a_notification_the_gateways_answer_is_told() -> None:
    create = operation(state=State.FAILURE, message="Insufficient funds [4009]")
    entries = timeline(aggregate([create]), [])
    assert told(entries)[-1] == "gateway: responds that the payment failed: Insufficient funds [4009]"
    assert entries[-1].tone is Tone.BAD


def test_a_notification_that_came_later_is_not_what_was_recorded() -> None:
    entries = timeline(aggregate([operation()]), [notification(received_at=moment_after(seconds=5))])
    assert told(entries)[-2:] == [
        "gateway: responds that the payment succeeded",
        "gateway: notifies: payment succeeded, 100.00 UAH: Successful [1000]",
    ]


def test_a_reservation_charged_in_part_and_a_refund_that_waits() -> None:
    waiting = operation(
        Kind.REFUND,
        State.WAITING,
        amount=Decimal("10.00"),
        created_at=moment_after(minutes=2),
        updated_at=moment_after(minutes=2),
    )
    charge = operation(
        Kind.CAPTURE,
        State.PENDING,
        amount=Decimal("60.00"),
        created_at=moment_after(minutes=1),
        updated_at=moment_after(minutes=1),
    )
    it = aggregate([operation(), charge, waiting], flow=Flow.AUTHORIZATION)
    charge.next_poll_at = moment_after(minutes=3)

    assert told(timeline(it, []))[0] == "Saleor: requests a payment: 100.00 UAH, authorized first"
    assert told(timeline(it, []))[2:] == [
        "gateway: responds that the authorization succeeded",
        "Saleor: asks to charge 60.00 UAH of the authorization",
        "app: asks the gateway to charge 60.00 UAH of the authorization",
        "gateway: responds that the charge of 60.00 UAH (requested in Saleor) is pending",
        "Saleor: asks to refund 10.00 UAH",
        "app: lets it wait until the operation before it has ended",
    ]
    assert [pending_step.words for pending_step in pending_steps(it, [])] == [
        "the app looks up the charge of 60.00 UAH, unless the gateway notifies it before",
        "the refund of 10.00 UAH is sent when the operation before it has ended",
    ]
    assert standing(it) == "authorized, charge under way, refund under way"


def test_what_others_did_is_told_as_theirs() -> None:
    theirs = operation(
        Kind.REFUND, idempotency_key="gateway:4711", asked_by_saleor=False, created_at=moment_after(hours=1)
    )
    words = told(timeline(aggregate([operation(), theirs]), []))
    assert "gateway: shows a refund of 100.00 UAH that was not requested here" in words
    assert not any("asks to refund" in word for word in words)


def without_routine(entries: list[Entry]) -> list[str]:
    return told([entry for entry in entries if not entry.is_routine])


@pytest.mark.parametrize(
    ("requested", "line"),
    [
        (
            {"asked_by": "olena", "asked_by_saleor": False, "request": {"comment": "damaged"}},
            "gateway: responds that the refund of 100.00 UAH (requested in the app by olena: “damaged”) succeeded",
        ),
        ({}, "gateway: responds that the refund of 100.00 UAH (requested in Saleor) succeeded"),
        (
            {"asked_by_saleor": False, "idempotency_key": "gateway:4711"},
            "gateway: responds that the refund of 100.00 UAH (not requested here) succeeded",
        ),
    ],
)
def test_refund_is_one_line_with_who_and_why(requested: dict[str, Any], line: str) -> None:
    made = operation(Kind.REFUND, created_at=moment_after(hours=1), updated_at=moment_after(hours=1), **requested)
    reported = event("REFUND_SUCCESS", created_at=moment_after(hours=2))
    entries = timeline(aggregate([operation(), made], [reported]), [])
    assert [words for words in without_routine(entries) if "refund" in words] == [line]
    assert len([words for words in told(entries) if "refund" in words]) > 1  # with every step


def test_refund_that_is_not_sent_yet_says_who_requested_it() -> None:
    waiting = operation(Kind.REFUND, State.WAITING, created_at=moment_after(hours=1))
    assert without_routine(timeline(aggregate([operation(), waiting]), []))[-2:] == [
        "Saleor: asks to refund 100.00 UAH",
        "app: lets it wait until the operation before it has ended",
    ]


@pytest.mark.parametrize("event_type", EventType)
def test_event_has_a_name_for_people(event_type: EventType) -> None:
    assert "_" not in event_name(event_type)
    assert not event_name(event_type).isupper()


def test_what_the_app_does_by_itself_was_not_asked_by_saleor() -> None:
    closing = operation(
        Kind.CANCEL, State.INTENT, asked_by_saleor=False, amount=Decimal(0), created_at=moment_after(hours=1)
    )
    words = told(timeline(aggregate([operation(state=State.INIT), closing]), []))
    assert words[-1] == "app: asks the gateway to close the payment page"
    assert not any(word.startswith("Saleor: asks to") for word in words)
    assert "gateway: opens the payment page" in words


def test_an_outcome_that_was_concluded_from_silence_is_the_apps_word() -> None:
    unknown = operation(state=State.UNKNOWN, message="We are looking it up")
    assert told(timeline(aggregate([unknown]), []))[-1] == (
        "app: concludes that the payment has an unknown outcome: We are looking it up"
    )
    silence = operation(state=State.FAILURE, inferred=True, message="The gateway has no record of it")
    assert told(timeline(aggregate([silence]), []))[-1] == (
        "app: concludes that the payment failed: The gateway has no record of it"
    )


@pytest.mark.parametrize(
    ("state", "error", "words", "tone"),
    [
        (EventState.WAITING, None, "not delivered yet after 2 attempts", Tone.OPEN),
        (EventState.WAITING, "HTTP 502", "not delivered yet (HTTP 502) after 2 attempts", Tone.OPEN),
        (EventState.REFUSED, "INVALID", "Saleor refused it permanently (INVALID) after 2 attempts", Tone.BAD),
        (EventState.SUPERSEDED, None, "no longer needed after 2 attempts", Tone.NEUTRAL),
    ],
)
def test_events_that_saleor_has_not(state: EventState, error: str | None, words: str, tone: Tone) -> None:
    said = timeline(aggregate(events=[event("INFO", state, amount=Decimal(0), message="", last_error=error)]), [])[-1]
    assert (said.words, said.tone) == (
        f"reports to Saleor: where the payment stands, and what can be done with it; {words}",
        tone,
    )


def test_everything_that_is_waited_for_is_named_soonest_first() -> None:
    it = aggregate(
        [operation(state=State.INIT, next_poll_at=moment_after(minutes=1))],
        [event("INFO", EventState.WAITING)],
        expires_at=moment_after(hours=1),
    )
    unworked = notification(
        processed_at=None,
        next_attempt_at=moment_after(seconds=2),
        outcome=Outcome(OutcomeCode.FAILED, ("TimeoutError",)),
    )

    assert [(pending_step.words, pending_step.until) for pending_step in pending_steps(it, [unworked])] == [
        ("the app processes a notification from the gateway", moment_after(seconds=2)),
        (
            "the app reports to Saleor: where the payment stands, and what can be done with it",
            moment_after(seconds=9),
        ),
        ("the app looks up the payment, unless the gateway notifies it before", moment_after(minutes=1)),
        ("the shopper has until then to pay", moment_after(hours=1)),
    ]
    assert any("not processed yet (TimeoutError)" in text for text in told(timeline(it, [unworked])))


def test_refunds_that_have_ended_are_not_said_to_be_under_way_and_are_told_apart() -> None:
    """Both were made, and stood under "What comes next" as two equal lines."""
    refunds = [
        operation(Kind.REFUND, amount=Decimal(amount), next_poll_at=moment_after(minutes=minutes))
        for amount, minutes in (("20.50", 1), ("33.33", 2))
    ]
    assert [step.words for step in pending_steps(aggregate([operation(), *refunds]), [])] == [
        "the refund of 20.50 UAH has ended; the app looks it up once more, unless the gateway notifies it before",
        "the refund of 33.33 UAH has ended; the app looks it up once more, unless the gateway notifies it before",
    ]


def test_a_concluded_payment_waits_for_nothing() -> None:
    assert pending_steps(aggregate([operation()], [event()]), [notification()]) == []


def test_a_notification_that_cannot_be_read_is_told_too() -> None:
    words = told(timeline(aggregate(), [notification(data="bm8ganNvbg")]))
    assert "gateway: notifies: something that is not a record of this order" in words


@given(
    states=st.lists(st.tuples(st.sampled_from(Kind), st.sampled_from(State)), max_size=4),
    flow=st.sampled_from(Flow),
    create=st.sampled_from(State),
    inferred=st.booleans(),
)
def test_every_payment_has_a_timeline_in_order_without_the_shopper(
    states: list[tuple[Kind, State]], flow: Flow, create: State, inferred: bool
) -> None:
    others = [
        operation(kind, state, idempotency_key=f"{number}", created_at=moment_after(minutes=number))
        for number, (kind, state) in enumerate(states)
        if kind is not Kind.CREATE
    ]
    it = PaymentAggregate(
        aggregate(flow=flow).payment, [operation(state=create, inferred=inferred), *others], [event()]
    )
    entries = timeline(it, [notification()])

    assert entries == sorted(entries, key=lambda entry: entry.at)
    assert len({entry.what for entry in entries}) >= 3
    shown = repr(entries) + standing(it) + repr(pending_steps(it, [notification()]))
    for private in ("olena", "+380", "4242"):
        assert private not in shown
    open_ones = [operation for operation in [it.create, *others] if not operation.state.final]
    assert ("under way" in standing(it)) is any(operation.kind is not Kind.CREATE for operation in open_ones)


@pytest.mark.parametrize(
    ("words", "flow", "operations"),
    [
        ("not known yet", Flow.CHARGE, [operation(state=State.INTENT)]),
        ("not known yet", Flow.CHARGE, [operation(state=State.UNKNOWN)]),
        ("waiting for the shopper", Flow.CHARGE, [operation(state=State.INIT)]),
        ("waiting for the shopper", Flow.CHARGE, [operation(state=State.PENDING, waits_for_shopper=True)]),
        ("waiting for the bank", Flow.CHARGE, [operation(state=State.PENDING)]),
        ("failed", Flow.CHARGE, [operation(state=State.FAILURE, status_code="4009")]),
        ("cancelled", Flow.CHARGE, [operation(state=State.FAILURE, status_code="6007")]),
        ("paid", Flow.CHARGE, [operation()]),
        ("authorized", Flow.AUTHORIZATION, [operation()]),
        ("paid", Flow.AUTHORIZATION, [operation(), operation(Kind.CAPTURE)]),
        ("released", Flow.AUTHORIZATION, [operation(), operation(Kind.VOID)]),
        ("authorized", Flow.AUTHORIZATION, [operation(), operation(Kind.VOID, State.FAILURE)]),
        ("partially refunded", Flow.CHARGE, [operation(), operation(Kind.REFUND, amount=Decimal("0.01"))]),
        ("refunded", Flow.CHARGE, [operation(), operation(Kind.REFUND)]),
        ("paid, refund under way", Flow.CHARGE, [operation(), operation(Kind.REFUND, State.UNKNOWN)]),
        ("waiting for the shopper, cancellation under way", Flow.CHARGE,
         [operation(state=State.INIT), operation(Kind.CANCEL, State.INTENT)]),
    ],
)  # fmt: skip
def test_where_a_payment_stands(words: str, flow: Flow, operations: list[Operation]) -> None:
    assert standing(aggregate(operations, flow=flow)) == words
    assert ORDER not in words


def test_what_the_gateway_says_besides() -> None:
    said = {"card_mask": "424242******4242", "fee": {"amount": "8.54", "currency": "UAH"}, "eci": "05"}
    entries = timeline(aggregate([operation(details=said)]), [])
    assert told(entries)[-1] == (
        "gateway: also reports for the payment: card 424242******4242; fee 8.54 UAH; 3-D Secure result (ECI) 05"
    )
    assert entries[-1].facts["details"] == said


def test_what_a_shop_need_not_know_is_routine_and_the_outcome_is_not() -> None:
    paid = operation(polls=1, polled_at=moment_after(seconds=30), details={"bank": "Bank"})
    told = event("CHARGE_SUCCESS", delivered_at=moment_after(seconds=2))
    entries = timeline(aggregate([paid], [told]), [notification()])
    assert {entry.what for entry in entries if entry.is_routine} == {
        "asked", "looked_up", "notified", "details", "reported",
    }  # fmt: skip
    assert [entry.what for entry in entries if not entry.is_routine] == ["payment_asked", "recorded"]
    refused = event("CHARGE_SUCCESS", state=EventState.REFUSED, last_error="no such amount")
    (bad,) = (entry for entry in timeline(aggregate([paid], [refused]), []) if entry.what == "reported")
    assert not bad.is_routine, "bad news is never folded away"
