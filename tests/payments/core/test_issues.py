"""An issue is its code and facts: whatever words it is shown in, it is the same, and rows of every version are read."""

import hashlib
from datetime import UTC, datetime
from decimal import Decimal

import pytest

from app.core.alerts import AlertKind
from app.core.ids import OperationRowId
from app.core.payment import Payment, Problem
from app.core.vocabulary import Flow, Kind, State
from app.i18n.messages import LazyMessage, Money, Verbatim
from app.i18n.translation import translation
from app.reports.alerts.texts import ALERT_TEXTS
from app.rules import issues
from app.rules.decision_context import raise_problem
from app.rules.issues import Issue, IssueCode, IssueFact, issue_from_json
from app.rules.labels import what_of
from app.rules.problems import PAID_TWICE, acknowledge, add_problem, cause_of_mismatch, open_problems
from app.rules.stored_issues import is_stored, stored_message
from tests.payments.aggregates import NOON, an_aggregate

HUNDRED, NINETY = Money(Decimal("100.00"), "UAH"), Money(Decimal("90.00"), "UAH")
DIFFERS = Issue(IssueCode.OTHER_AMOUNT, sum=HUNDRED, asked=NINETY)

FACTS: dict[str, IssueFact] = {
    "sum": HUNDRED, "asked": NINETY, "said": HUNDRED, "ours": State.FAILURE, "theirs": State.SUCCESS,
    "what": Kind.REFUND, "since": datetime(2026, 11, 21, 12, tzinfo=UTC), "pos_id": "p", "order": "o",
    "currency": "USD", "seen": "auth", "method": "gift", "type": "CHARGE_SUCCESS", "code": "INVALID",
    "refunded": HUNDRED, "disputed": NINETY, "total": HUNDRED, "to_pay": NINETY, "others": "one, two",
    "number": "42", "excess": NINETY, "left": NINETY, "payment": "p", "rounded": NINETY,
    "word": "reversed", "granted": HUNDRED, "rest": NINETY,
}  # fmt: skip


def complete(code: IssueCode) -> Issue:
    """Return an issue with exactly the facts that its sentence names."""
    text = issues._TEXTS[code]
    return Issue(code, **{name: fact for name, fact in FACTS.items() if f"%({name})s" in text})


@pytest.mark.parametrize("code", IssueCode)
def test_every_code_has_a_sentence_and_survives_the_database(code: IssueCode) -> None:
    issue = complete(code)
    assert "%" not in issue.message
    assert issue.message.endswith((".", "UAH"))
    stored = issue.to_json()
    assert issue_from_json(stored) == issue
    assert stored_message(stored) == issue.message
    assert LazyMessage.from_json(stored) == issue.message  # as the version before reads it


OF_PAYOUTS = (
    *(IssueCode.OTHER_POINT_OF_SALE, IssueCode.OTHER_ORDER, IssueCode.OTHER_CURRENCY, IssueCode.OTHER_FLOW),
    *(IssueCode.OTHER_AMOUNT, IssueCode.OTHER_CARD, IssueCode.INVALID_AMOUNT, IssueCode.MORE_THAN_LEFT),
    *(IssueCode.FAILED_AFTER_SUCCESS, IssueCode.MADE_AFTER_ALL, IssueCode.SECOND_PAYOUT, IssueCode.UNEXPLAINED_MONEY),
    *(IssueCode.UNEXPLAINED_STATUS, IssueCode.UNKNOWN_STATUS, IssueCode.OVERDRAWN, IssueCode.UNREADABLE_RECORDS),
    *(IssueCode.MORE_MISMATCHES, IssueCode.NOT_DECRYPTED, IssueCode.OUTCOME_UNKNOWN, IssueCode.RECORDED_AMOUNT),
    *(IssueCode.RECORDED_STATE, IssueCode.RECORDED_CURRENCY, IssueCode.RECORD_NOT_SHOWN, IssueCode.RECORD_UNREADABLE),
    *(IssueCode.RECORD_MISSING, IssueCode.OTHER_PAYMENT),
)
"""What payments and payouts have in common."""


@pytest.mark.parametrize("language", ["en", "uk"])
@pytest.mark.parametrize("code", OF_PAYOUTS)
def test_what_payouts_can_have_too_calls_none_a_payment(code: IssueCode, language: str) -> None:
    facts = {name: what_of(Flow.PAYOUT, Kind.CREATE) if name == "what" else fact for name, fact in FACTS.items()}
    named = {name: facts[name] for name in complete(code).facts}
    said = translation(language).plain_text(Issue(code, **named).message).lower()
    assert not any(word in said for word in ("payment", "платіж", "платеж", "shopper", "покуп"))


@pytest.mark.parametrize("language", ["en", "uk"])
def test_what_a_lost_dispute_of_a_trial_can_have_too_says_nothing_of_saleor(language: str) -> None:
    """Saleor has no transaction of a trial."""
    assert "Saleor" not in translation(language).plain_text(complete(IssueCode.DISPUTE_LOST).message)


@pytest.mark.parametrize("language", ["en", "uk"])
@pytest.mark.parametrize("kind", [AlertKind.DISPUTE, AlertKind.MISMATCH, AlertKind.DIFFERENCE, AlertKind.WAITING])
def test_headings_of_what_payouts_can_have_too_name_them(kind: AlertKind, language: str) -> None:
    words = ALERT_TEXTS[kind]
    for text in (words.title, words.meaning, words.remedy.partition(".")[0]):
        said = translation(language).gettext(text).lower()
        is_of_payment = any(word in said for word in ("payment", "платіж", "платеж"))
        assert not is_of_payment or any(word in said for word in ("payout", "виплат"))


def test_what_the_gateway_says_is_quoted_where_the_sentence_has_no_place_for_it() -> None:
    issue = Issue(IssueCode.NOT_THE_GATEWAY, said=Verbatim("100% <blocked>"))
    assert issue.message.endswith("or the address is wrong. It says: “100% <blocked>”")
    assert stored_message(issue.to_json()) == issue.message


def test_other_facts_are_another_issue_and_other_words_are_not(monkeypatch: pytest.MonkeyPatch) -> None:
    digest, stored = DIFFERS.digest, DIFFERS.to_json()
    assert Issue(IssueCode.OTHER_AMOUNT, sum=NINETY, asked=HUNDRED).digest != digest
    assert Issue(IssueCode.OTHER_CURRENCY, sum=HUNDRED, asked=NINETY).digest != digest
    assert Issue(IssueCode.OTHER_AMOUNT, asked=NINETY, sum=HUNDRED).digest == digest
    monkeypatch.setattr(issues, "_TEXTS", dict.fromkeys(IssueCode, "Something else altogether"))
    assert DIFFERS.digest == digest
    assert is_stored(DIFFERS, stored)
    assert stored_message(stored) == "Something else altogether"


def test_a_code_of_a_later_version_is_shown_in_its_own_words() -> None:
    later = {"code": "of_tomorrow", "facts": {}, "message": "It is %(what)s.", "values": {"what": "late"}}
    assert issue_from_json(later) is None
    assert stored_message(later) == "It is late."
    assert not is_stored(DIFFERS, later)


def raised_before(sentence: LazyMessage) -> Payment:
    """Return a payment with a mismatch that a version without codes has raised."""
    payment = an_aggregate(Flow.CHARGE, State.SUCCESS).payment
    key = hashlib.sha256(f"1:{sentence}".encode()).hexdigest()[:16]
    row = Problem(
        operation_id=OperationRowId(1), kind=AlertKind.MISMATCH, key=key,
        message=sentence.to_json(), raised_at=NOON,
    )  # fmt: skip
    payment.problems.append(row)
    payment.has_problems = True
    return payment


@pytest.mark.law(13)
@pytest.mark.parametrize(
    ("sentence", "issue"),
    [
        (LazyMessage("The gateway reports %(sum)s, but %(asked)s was asked.", sum=HUNDRED, asked=NINETY), DIFFERS),
        (LazyMessage("The gateway reports %(sum)s, but %(asked)s was requested.", sum=HUNDRED, asked=NINETY), DIFFERS),
        (
            LazyMessage(
                "The gateway said %(first)s first and now says %(now)s: compare this payment with the merchant portal.",
                first=LazyMessage("success"),
                now=LazyMessage("failure"),
            ),
            Issue(IssueCode.FAILED_AFTER_SUCCESS),
        ),
    ],
)
def test_what_staff_have_judged_under_an_earlier_version_stays_judged(sentence: LazyMessage, issue: Issue) -> None:
    payment = raised_before(sentence)
    assert acknowledge(payment, NOON) == (sentence,)
    add_problem(payment, cause_of_mismatch(issue, OperationRowId(1), "x"), issue, NOON)
    assert open_problems(payment) == []
    add_problem(payment, cause_of_mismatch(issue, OperationRowId(2), "x"), issue, NOON)  # of another operation
    assert len(open_problems(payment)) == 1


def test_second_authorization_that_staff_have_judged_as_a_second_payment_stays_judged() -> None:
    """Earlier versions stored it under the code of a second payment."""
    before, issue = Issue(IssueCode.SECOND_PAYMENT, sum=HUNDRED), Issue(IssueCode.SECOND_AUTHORIZATION, sum=HUNDRED)
    payment = an_aggregate(Flow.AUTHORIZATION, State.SUCCESS).payment
    add_problem(payment, cause_of_mismatch(before, OperationRowId(1), "x"), before, NOON)
    acknowledge(payment, NOON)
    add_problem(payment, cause_of_mismatch(issue, OperationRowId(1), "x"), issue, NOON)
    assert open_problems(payment) == []
    other = Issue(IssueCode.SECOND_AUTHORIZATION, sum=NINETY)
    add_problem(payment, cause_of_mismatch(other, OperationRowId(1), "x"), other, NOON)
    assert len(open_problems(payment)) == 1


def test_another_mismatch_than_staff_have_judged_is_raised_although_its_facts_are_the_same() -> None:
    payment = raised_before(LazyMessage("The gateway reports another order (%(order)s).", order="o"))
    acknowledge(payment, NOON)
    issue = Issue(IssueCode.OTHER_ORDER, order="o")
    add_problem(payment, cause_of_mismatch(issue, OperationRowId(1), "x"), issue, NOON)
    assert len(open_problems(payment)) == 1


def test_another_amount_than_staff_have_judged_is_raised() -> None:
    before = LazyMessage("The gateway reports %(sum)s, but %(asked)s was asked.", sum=NINETY, asked=HUNDRED)
    payment = raised_before(before)
    acknowledge(payment, NOON)
    add_problem(payment, cause_of_mismatch(DIFFERS, OperationRowId(1), "x"), DIFFERS, NOON)
    assert len(open_problems(payment)) == 1


def test_saleor_is_not_told_again_what_an_earlier_version_has_told_it() -> None:
    before = LazyMessage("The gateway reports %(sum)s, but %(asked)s was asked.", sum=HUNDRED, asked=NINETY)
    aggregate = an_aggregate(Flow.CHARGE, State.SUCCESS)
    aggregate.payment.problems = raised_before(before).problems
    raise_problem(aggregate, DIFFERS, NOON, cause=cause_of_mismatch(DIFFERS, OperationRowId(1), "x"))
    assert aggregate.events == []
    for _ in range(2):
        raise_problem(aggregate, DIFFERS, NOON, cause=cause_of_mismatch(DIFFERS, OperationRowId(2), "x"))
    assert [event.message for event in aggregate.events] == [DIFFERS.message]


def test_saleor_is_told_anew_what_an_earlier_version_has_told_in_a_sentence_that_is_not_known() -> None:
    """It may have stated other sums."""
    aggregate = an_aggregate(Flow.CHARGE, State.SUCCESS)
    aggregate.payment.problems = [
        Problem(
            kind=AlertKind.PAID_TWICE,
            message=LazyMessage("Paid twice: %(sum)s.", sum=NINETY).to_json(),
            raised_at=NOON,
        )
    ]
    for _ in range(2):
        raise_problem(aggregate, DIFFERS, NOON, cause=PAID_TWICE)
    assert [event.message for event in aggregate.events] == [DIFFERS.message]
