"""Issues as they are stored, by this version and by those before the codes, which stored sentences. Pure."""

from collections.abc import Mapping
from typing import Any

from app.i18n.messages import LazyMessage
from app.rules.issues import Issue, IssueCode, issue_from_json


def has_code(stored: Mapping[str, Any]) -> bool:
    """Return True when a version with codes has stored an issue."""
    return "code" in stored


def stored_message(stored: Mapping[str, Any]) -> LazyMessage:
    """Return the sentence of a stored issue, whichever version has stored it."""
    issue = issue_from_json(stored)
    return LazyMessage.from_json(stored) if issue is None else issue.message


def is_stored(issue: Issue, stored: Mapping[str, Any]) -> bool:
    """Return True when ``stored`` is this issue; a version without codes has stored it as a sentence with values."""
    known = issue_from_json(stored)
    if known is not None:
        former = _FORMER_CODES.get(issue.code)
        return known == issue or (former is not None and known == Issue(former, **issue.facts))
    values = {name: value for name, value in stored["values"].items() if not _is_sentence(value)}
    facts = issue.to_json()["facts"]
    return _EARLIER.get(stored["message"]) is issue.code and all(
        facts.get(name) == value for name, value in values.items()
    )


def _is_sentence(value: object) -> bool:
    return isinstance(value, Mapping) and "message" in value


# The code under which earlier versions have stored what has a code of its own now.
_FORMER_CODES: Mapping[IssueCode, IssueCode] = {IssueCode.SECOND_AUTHORIZATION: IssueCode.SECOND_PAYMENT}

# What versions before the codes have stored of mismatches. These sentences are data: they never change with the texts.
_EARLIER: Mapping[object, IssueCode] = {
    "The gateway reports a different point of sale (%(pos_id)s) from the one where this payment was made.": (
        IssueCode.OTHER_POINT_OF_SALE
    ),
    "The gateway reports another point of sale (%(pos_id)s) than this payment was made at.": (
        IssueCode.OTHER_POINT_OF_SALE
    ),
    "The gateway reports a different order (%(order)s) from the one that was looked up.": IssueCode.OTHER_ORDER,
    "The gateway reports another order (%(order)s) than the one that was asked about.": IssueCode.OTHER_ORDER,
    "The gateway reports %(sum)s, but the payment is in %(currency)s.": IssueCode.OTHER_CURRENCY,
    "The gateway reports a payment of type %(seen)s, but it was created as %(asked)s.": IssueCode.OTHER_FLOW,
    "The gateway reports a payment for %(seen)s, but it was made for %(asked)s.": IssueCode.OTHER_FLOW,
    "The gateway reports %(sum)s, but %(asked)s was requested.": IssueCode.OTHER_AMOUNT,
    "The gateway reports %(sum)s, but %(asked)s was asked.": IssueCode.OTHER_AMOUNT,
    "The gateway reports %(sum)s, which is not a valid amount.": IssueCode.INVALID_AMOUNT,
    "The gateway reports %(sum)s, which is no amount of money.": IssueCode.INVALID_AMOUNT,
    "The shopper paid %(sum)s, but the payment is in %(currency)s.": IssueCode.PAID_IN_OTHER_CURRENCY,
    "The gateway first reported %(first)s and now reports %(now)s: compare this payment with the merchant portal.": (
        IssueCode.FAILED_AFTER_SUCCESS
    ),
    "The gateway said %(first)s first and now says %(now)s: compare this payment with the merchant portal.": (
        IssueCode.FAILED_AFTER_SUCCESS
    ),
}
