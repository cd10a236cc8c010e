"""Why a page is closed is a code: what decides is never compared with a sentence, which may be worded anew."""

from datetime import timedelta

import pytest

from app.core.payment import Operation
from app.core.vocabulary import CloseReason, Flow, Kind, State
from app.rules import page_cancellation
from app.rules.page_cancellation import (
    close_reason_of,
    create_cancellation,
    is_closing_for,
    is_retried_until_confirmed,
    needs_look_up_first,
    postpone_closing,
)
from app.rules.schedule import Schedule
from tests.payments.aggregates import NOON, an_aggregate, an_operation

COVERED_BEFORE = "The same is paid or at the bank by another payment, and the payment page was closed"
RETRIED = set(CloseReason) - {CloseReason.NOT_PAID_IN_TIME, CloseReason.BY_STAFF}


def closing_for(reason: CloseReason) -> Operation:
    payment = an_aggregate(Flow.CHARGE, State.INIT).payment
    return create_cancellation(payment, key="k", reason=reason, state=State.WAITING, next_poll_at=NOON, now=NOON)


def is_covered(stored: object, state: State = State.WAITING) -> bool:
    closing = an_operation(Kind.CANCEL, state, request={"why": stored})
    return is_closing_for(an_aggregate(Flow.CHARGE, State.INIT, closing), CloseReason.COVERED)


@pytest.mark.parametrize("reason", CloseReason)
def test_a_code_is_stored_and_its_sentence_is_shown(reason: CloseReason) -> None:
    closing = closing_for(reason)
    assert closing.close_reason is close_reason_of(closing) is reason
    assert " " not in reason.value
    assert closing.message == page_cancellation._TEXTS[reason]


@pytest.mark.law(12)
@pytest.mark.parametrize("reason", CloseReason)
def test_what_must_not_be_paid_is_closed_until_the_gateway_confirms_it(reason: CloseReason) -> None:
    closing = closing_for(reason)
    assert is_retried_until_confirmed(closing) is (reason in RETRIED)
    assert needs_look_up_first(closing) is (reason is CloseReason.LINK_LOST)
    closing.polls = 1
    assert needs_look_up_first(closing) is (reason in RETRIED)


@pytest.mark.law(12, 13)
def test_page_that_was_not_closed_is_closed_again_after_growing_pauses() -> None:
    pauses = []
    for polls in (0, 1, 2, 3, 50):
        closing = an_operation(Kind.CANCEL, State.INTENT, polls=polls)
        postpone_closing(closing, None, Schedule(), NOON)
        assert closing.state is State.WAITING
        assert closing.next_poll_at is not None
        pauses.append(closing.next_poll_at - NOON)
    assert pauses[0] == pauses[1] < pauses[2] < pauses[3] <= pauses[4] == timedelta(minutes=5)


@pytest.mark.law(12)
@pytest.mark.parametrize(
    ("sentence", "reason"),
    [
        (COVERED_BEFORE, CloseReason.COVERED),
        ("A newer attempt to pay has taken its place, and the payment page was closed", CloseReason.REPLACED),
        ("Nobody paid in time, and the payment page was closed", CloseReason.NOT_PAID_IN_TIME),
        ("Staff cancelled the payment in the app, and the payment page was closed", CloseReason.BY_STAFF),
        (
            "The address of the payment page got lost with the gateway's answer, so the page was closed unused",
            CloseReason.LINK_LOST,
        ),
    ],
)
def test_the_version_before_reads_and_is_read(sentence: str, reason: CloseReason) -> None:
    """Both run beside each other during an update: it knows no codes and compares the sentences that it stores."""
    ours = closing_for(reason)
    assert (ours.request["why"], ours.asked_by_saleor) == (sentence, False)
    theirs = an_operation(Kind.CANCEL, State.WAITING, request={"why": sentence})
    assert close_reason_of(theirs) is reason
    assert is_retried_until_confirmed(theirs) is (reason in RETRIED)


def test_every_closing_has_a_sentence_for_the_version_before() -> None:
    """It reports that sentence when the page has been closed."""
    assert all(" page was closed" in closing_for(reason).request["why"] for reason in CloseReason)


@pytest.mark.law(12)
@pytest.mark.parametrize(
    "sentence",
    [
        "Another payment for the same checkout or order is paid or at the bank, so the payment page was closed",
        COVERED_BEFORE,
    ],
)
def test_a_closing_of_an_earlier_version_still_counts(sentence: str) -> None:
    """Both are how earlier versions said that the debt is covered."""
    assert is_covered(sentence)
    assert not is_covered(sentence, State.SUCCESS)


def test_wording_a_reason_anew_changes_no_decision(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page_cancellation, "_TEXTS", dict.fromkeys(CloseReason, "Something else altogether"))
    assert is_covered("covered")
    assert is_covered(COVERED_BEFORE)
    assert closing_for(CloseReason.COVERED).request["why"] == COVERED_BEFORE


@pytest.mark.parametrize("stored", [None, "", "no such code", 7])
def test_what_no_version_has_stored_is_no_reason(stored: object) -> None:
    assert not is_covered(stored)
