"""Why a page is closed is a code: what decides is never compared with a sentence, which may be worded anew."""

import pytest

from app.db.tables import Flow, Kind, State
from app.payments.core import page_cancellation
from app.payments.core.page_cancellation import CloseReason, create_cancellation, is_closing_for
from tests.payments.aggregates import NOON, an_aggregate, an_operation


def is_covered(stored: object, state: State = State.WAITING) -> bool:
    closing = an_operation(Kind.CANCEL, state, request={"why": stored})
    return is_closing_for(an_aggregate(Flow.CHARGE, State.INIT, closing), CloseReason.COVERED)


@pytest.mark.parametrize("reason", CloseReason)
def test_a_code_is_stored_and_its_sentence_is_shown(reason: CloseReason) -> None:
    aggregate = an_aggregate(Flow.CHARGE, State.INIT)
    closing = create_cancellation(
        aggregate.payment, key="k", reason=reason, state=State.WAITING, next_poll_at=NOON, now=NOON
    )
    assert closing.request["why"] == reason.value
    assert " " not in reason.value
    assert closing.message == reason.text
    assert CloseReason.of(closing) is reason


@pytest.mark.law(12)
@pytest.mark.parametrize(
    "sentence",
    [
        "Another payment for the same checkout or order is paid or at the bank, so the payment page was closed",
        "The same is paid or at the bank by another payment, and the payment page was closed",
    ],
)
def test_a_closing_of_an_earlier_version_still_counts(sentence: str) -> None:
    """Both are how earlier versions said that the debt is covered."""
    assert is_covered(sentence)
    assert not is_covered(sentence, State.SUCCESS)


def test_wording_a_reason_anew_changes_no_decision(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page_cancellation, "_TEXTS", dict.fromkeys(CloseReason, "Something else altogether"))
    assert is_covered("covered")
    assert is_covered("The same is paid or at the bank by another payment, and the payment page was closed")


@pytest.mark.parametrize("stored", [None, "", "no such code", 7])
def test_what_no_version_has_stored_is_no_reason(stored: object) -> None:
    assert not is_covered(stored)
