"""What staff are shown when a person must look: a code with its facts, and the sentence that is made of both.

The code and the facts are stored, compared and hashed; the sentence is rendered where it is shown. So a text can
be worded anew, or translated, and the same issue stays the same issue. Pure.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, TypeAlias

from app.core.vocabulary import Kind, State
from app.i18n.messages import LazyMessage, Value, gettext_noop, value_from_json, value_to_json
from app.rules.labels import in_words

IssueFact: TypeAlias = Value | Kind | State
"""A fact of an issue; a ``Kind`` or ``State`` is put into words when it is shown."""


class IssueCode(StrEnum):
    """What the matter is. Values are stored: none of them ever changes."""

    # The merchant account
    KEYS_REFUSED = "keys_refused"
    WRONG_ADDRESS = "wrong_address"
    NOT_THE_GATEWAY = "not_the_gateway"
    # A record that is not what was requested, or not what was said before
    OTHER_POINT_OF_SALE = "other_point_of_sale"
    OTHER_ORDER = "other_order"
    OTHER_PAYMENT = "other_payment"
    OTHER_CURRENCY = "other_currency"
    OTHER_FLOW = "other_flow"
    OTHER_AMOUNT = "other_amount"
    OTHER_CARD = "other_card"
    INVALID_AMOUNT = "invalid_amount"
    MORE_THAN_LEFT = "more_than_left"
    PAID_IN_OTHER_CURRENCY = "paid_in_other_currency"
    FAILED_AFTER_SUCCESS = "failed_after_success"
    MADE_AFTER_ALL = "made_after_all"
    CHARGED_AFTER_END = "charged_after_end"
    SECOND_PAYMENT = "second_payment"
    SECOND_AUTHORIZATION = "second_authorization"
    SECOND_PAYOUT = "second_payout"
    UNEXPLAINED_MONEY = "unexplained_money"
    UNEXPLAINED_STATUS = "unexplained_status"
    UNKNOWN_STATUS = "unknown_status"
    OVERDRAWN = "overdrawn"
    ROUNDED_BY_SALEOR = "rounded_by_saleor"
    REST_NOT_RELEASED = "rest_not_released"
    REST_NOT_KEPT = "rest_not_kept"
    RELEASE_IN_DOUBT = "release_in_doubt"
    GRANT_CHANGED = "grant_changed"
    GRANT_CUT = "grant_cut"
    UNREADABLE_RECORDS = "unreadable_records"
    MORE_MISMATCHES = "more_mismatches"
    # Notifications, outcomes, events
    NOT_DECRYPTED = "not_decrypted"
    PAGE_NOT_CLOSED = "page_not_closed"
    OUTCOME_UNKNOWN = "outcome_unknown"
    EVENT_REFUSED = "event_refused"
    # Disputes
    DISPUTE_OPEN = "dispute_open"
    DISPUTE_LOST = "dispute_lost"
    DISPUTE_OF_PAYOUT = "dispute_of_payout"
    PAID_BACK_TWICE = "paid_back_twice"
    # Money and order
    PAID_TWICE = "paid_twice"
    CHECKOUT_GONE = "checkout_gone"
    NOT_ORDERED = "not_ordered"
    ORDER_CANCELED = "order_canceled"
    ORDER_EXPIRED = "order_expired"
    ORDER_RETURNED = "order_returned"
    OVERPAID = "overpaid"
    TEST_MONEY = "test_money"
    CUSTOMER_DELETED = "customer_deleted"
    TEST_SUBSCRIPTION = "test_subscription"
    ORDER_NOT_PAID = "order_not_paid"
    CHECKOUT_TOTAL_ROSE = "checkout_total_rose"
    ORDER_TOTAL_ROSE = "order_total_rose"
    # Comparisons with the gateway's records
    RECORDED_AMOUNT = "recorded_amount"
    RECORDED_STATE = "recorded_state"
    RECORDED_RECEIVER = "recorded_receiver"
    RECORDED_CURRENCY = "recorded_currency"
    RECORD_NOT_IN_SALEOR = "record_not_in_saleor"
    RECORD_NOT_SHOWN = "record_not_shown"
    RECORD_UNREADABLE = "record_unreadable"
    RECORD_MISSING = "record_missing"
    REGISTER_NOT_READY = "register_not_ready"
    REGISTER_LATE = "register_late"
    RECORDS_NOT_PROVIDED = "records_not_provided"
    COMPARISON_FAILED = "comparison_failed"


@dataclass(frozen=True, slots=True)
class Issue:
    """One issue. ``facts`` are the values in its sentence, by their names there.

    ``said`` quotes the gateway, where its own sentence has no place for it.
    """

    code: IssueCode
    facts: Mapping[str, IssueFact]

    def __init__(self, code: IssueCode, /, **facts: IssueFact) -> None:
        object.__setattr__(self, "code", code)
        object.__setattr__(self, "facts", facts)

    @property
    def message(self) -> LazyMessage:
        """The sentence for staff."""
        text = _TEXTS[self.code]
        said = self.facts.get("said")
        quoted = said is not None and "%(said)s" not in text
        words = {name: in_words(fact) for name, fact in self.facts.items()}
        message = LazyMessage(text, **words)
        return LazyMessage("%(what)s It says: “%(said)s”", what=message, said=in_words(said)) if quoted else message

    @property
    def digest(self) -> str:
        """A hash of code and facts: the same for the same issue, in whatever words."""
        facts = json.dumps({name: _fact_to_json(fact) for name, fact in self.facts.items()}, sort_keys=True)
        return hashlib.sha256(f"{self.code.value}:{facts}".encode(errors="backslashreplace")).hexdigest()

    def to_json(self) -> dict[str, Any]:
        """Return the JSON to store, from which ``issue_from_json`` restores it.

        It also holds the sentence, for the version before this one, which may run beside it on the same database.
        """
        facts = {name: _fact_to_json(fact) for name, fact in self.facts.items()}
        return {"code": self.code.value, "facts": facts, **self.message.to_json()}


def while_disputed(issue: LazyMessage) -> LazyMessage:
    """Return the message of an issue that advises a refund, as long as the payer disputes the payment at the bank."""
    return LazyMessage(
        "The payer is disputing this payment: refund nothing until the dispute has ended. Then: %(issue)s", issue=issue
    )


def issue_from_json(stored: Mapping[str, Any]) -> Issue | None:
    """Return a stored issue; None when a version without codes, or a later one with others, has stored it."""
    code = next((code for code in IssueCode if code.value == stored.get("code")), None)
    if code is None:
        return None
    return Issue(code, **{name: _fact_from_json(fact) for name, fact in stored["facts"].items()})


def _fact_to_json(fact: IssueFact) -> Any:
    match fact:
        case Kind():
            return {"kind": fact.value}
        case State():
            return {"state": fact.value}
        case _:
            return value_to_json(fact)


def _fact_from_json(stored: Any) -> IssueFact:
    match stored:
        case {"kind": kind}:
            return Kind(kind)
        case {"state": state}:
            return State(state)
        case _:
            return value_from_json(stored)


_TEXTS: Mapping[IssueCode, str] = {
    IssueCode.KEYS_REFUSED: gettext_noop(
        "The gateway rejects the keys of this merchant account, so nobody can pay: check the keys."
    ),
    IssueCode.WRONG_ADDRESS: gettext_noop(
        "The server at this merchant account's address redirects elsewhere, not to a payment page: check the "
        "account's gateway address."
    ),
    IssueCode.NOT_THE_GATEWAY: gettext_noop(
        "The server at this merchant account's address is not the gateway: a firewall or proxy is in between, or the "
        "address is wrong."
    ),
    IssueCode.OTHER_POINT_OF_SALE: gettext_noop(
        "The gateway reports a different point of sale (%(pos_id)s) from the one that was asked."
    ),
    IssueCode.OTHER_ORDER: gettext_noop(
        "The gateway reports a different order (%(order)s) from the one that was looked up."
    ),
    IssueCode.OTHER_PAYMENT: gettext_noop(
        "The gateway reports a %(what)s of %(sum)s of this order for something that the app does not know "
        "(%(payment)s). It is booked nowhere: check it in the merchant portal."
    ),
    IssueCode.OTHER_CURRENCY: gettext_noop("The gateway reports %(sum)s, but an amount in %(currency)s was requested."),
    IssueCode.OTHER_FLOW: gettext_noop("The gateway reports the type %(seen)s, but it was created as %(asked)s."),
    IssueCode.OTHER_AMOUNT: gettext_noop("The gateway reports %(sum)s, but %(asked)s was requested."),
    IssueCode.OTHER_CARD: gettext_noop(
        "The gateway reports the card %(seen)s, but the payout was requested to %(asked)s: compare it with the "
        "merchant portal."
    ),
    IssueCode.INVALID_AMOUNT: gettext_noop("The gateway reports %(sum)s, which is not a valid amount."),
    IssueCode.PAID_IN_OTHER_CURRENCY: gettext_noop("The shopper paid %(sum)s, but the payment is in %(currency)s."),
    IssueCode.FAILED_AFTER_SUCCESS: gettext_noop(
        "The gateway first reported success and now reports failure: compare it with the merchant portal."
    ),
    IssueCode.MADE_AFTER_ALL: gettext_noop(
        "A %(what)s of %(sum)s had failed, and was made after all: if it was requested again, it was made twice."
    ),
    IssueCode.CHARGED_AFTER_END: gettext_noop(
        "The gateway charged %(sum)s for the subscription after it had been cancelled here: cancel it in the merchant "
        "portal, and refund the charge."
    ),
    IssueCode.CUSTOMER_DELETED: gettext_noop(
        "The customer was deleted in Saleor, but the gateway goes on charging the subscription: cancel it, unless the "
        "customer wants to keep it."
    ),
    IssueCode.TEST_SUBSCRIPTION: gettext_noop(
        "The channel takes real money now, but a test project's subscription goes on: Saleor shows each of its charges "
        "as paid, and you receive nothing. Cancel it; the customer must subscribe again, with a real card."
    ),
    IssueCode.SECOND_PAYMENT: gettext_noop(
        "The gateway reports a second successful payment of this order, over %(sum)s: compare this payment with "
        "the merchant portal, and refund one of them there."
    ),
    IssueCode.SECOND_AUTHORIZATION: gettext_noop(
        "The gateway reports a second successful authorization of this order, over %(sum)s: compare this payment with "
        "the merchant portal, and cancel there the authorization that is not needed, or refund it if it was charged."
    ),
    IssueCode.SECOND_PAYOUT: gettext_noop(
        "The gateway reports a second successful payout of this order, over %(sum)s: it was probably paid out twice. "
        "Compare it with the merchant portal."
    ),
    IssueCode.UNEXPLAINED_MONEY: gettext_noop(
        "The gateway reports a success of this order that the app cannot explain: %(method)s, %(sum)s. Check it in the "
        "merchant portal."
    ),
    IssueCode.UNEXPLAINED_STATUS: gettext_noop(
        "The gateway reports a %(method)s of %(sum)s of this order with the status “%(word)s”, which the app does not "
        "know: nothing of it is booked. Check it in the merchant portal."
    ),
    IssueCode.UNKNOWN_STATUS: gettext_noop(
        "The gateway now reports the status “%(word)s” for a %(what)s of %(sum)s that had succeeded. The app does not "
        "know this status, and changes nothing: compare it with the merchant portal."
    ),
    IssueCode.OVERDRAWN: gettext_noop(
        "The %(what)s of %(sum)s was carried out, although there was not enough left for it: compare it with the "
        "merchant portal."
    ),
    IssueCode.MORE_THAN_LEFT: gettext_noop(
        "The gateway reports a %(what)s of %(sum)s that was not requested here, and there was not enough left for it: "
        "nothing of it is booked. Compare it with the merchant portal, and settle the %(what)s by hand."
    ),
    IssueCode.ROUNDED_BY_SALEOR: gettext_noop(
        "The gateway reports a %(what)s of %(sum)s, but amounts in this currency have no decimals in Saleor, which may "
        "show %(rounded)s. Allow for the difference in your accounts."
    ),
    IssueCode.REST_NOT_RELEASED: gettext_noop(
        "More of this authorization was charged after the rest should have been released: this gateway keeps the rest. "
        "Compare the payment with the merchant portal, and choose “It stays authorized” under the account's options."
    ),
    IssueCode.REST_NOT_KEPT: gettext_noop(
        "The gateway allows neither a charge nor a release of the rest of this authorization since a part of it was "
        "charged: Saleor is told that the rest was released. Compare the payment with the merchant portal, and choose "
        "“It is released” under the account's options."
    ),
    IssueCode.RELEASE_IN_DOUBT: gettext_noop(
        "The gateway refuses to release the authorization of %(sum)s because of the state it is in, and shows nothing "
        "that explains it: it has perhaps lapsed. Compare the payment with the merchant portal, and settle the release."
    ),
    IssueCode.GRANT_CHANGED: gettext_noop(
        "Saleor requested the same granted refund again, now of %(asked)s, but %(sum)s was or is being refunded for "
        "it already: nothing more is refunded. Correct the difference by another refund, if it is owed."
    ),
    IssueCode.GRANT_CUT: gettext_noop(
        "Saleor requested only %(sum)s of a granted refund of %(granted)s, because no more of this payment is left, "
        "and counts it as done after that. Refund the other %(rest)s from another payment of the order, if it is owed."
    ),
    IssueCode.UNREADABLE_RECORDS: gettext_noop(
        "The gateway shows operations of this order that the app cannot read, so money may have moved without the "
        "app knowing. Compare the order with the merchant portal."
    ),
    IssueCode.MORE_MISMATCHES: gettext_noop(
        "The gateway reports more mismatches than are listed here: check the order in the merchant portal."
    ),
    IssueCode.NOT_DECRYPTED: gettext_noop(
        "A notification from the gateway cannot be decrypted: the secret key it was encrypted with is not in the key "
        "file. The app keeps trying until somebody puts the key back."
    ),
    IssueCode.PAGE_NOT_CLOSED: gettext_noop(
        "The gateway has not closed the payment page since %(since)s, although nobody should pay on it "
        "any more. The app keeps asking the gateway; check in the merchant portal whether it can still "
        "be paid."
    ),
    IssueCode.OUTCOME_UNKNOWN: gettext_noop(
        "Since %(since)s the outcome of the %(what)s of %(sum)s has been unknown. The app keeps asking the "
        "gateway; compare it with the merchant portal."
    ),
    IssueCode.EVENT_REFUSED: gettext_noop(
        "Saleor refused to record %(type)s of %(sum)s (%(code)s): its records differ from the gateway's "
        "until somebody corrects them."
    ),
    IssueCode.DISPUTE_OPEN: gettext_noop(
        "The payer is disputing %(sum)s of this payment with the bank. Respond in the merchant portal in "
        "time; the disputed amount is not offered for refund."
    ),
    IssueCode.DISPUTE_LOST: gettext_noop(
        "After a dispute, the payer's bank took back %(sum)s of this payment. Do not refund it too."
    ),
    IssueCode.DISPUTE_OF_PAYOUT: gettext_noop(
        "The gateway reports a dispute over %(sum)s of this payout; if it succeeds, that sum counts as returned. "
        "Compare the payout with the merchant portal."
    ),
    IssueCode.PAID_BACK_TWICE: gettext_noop(
        "The payer gets more back than was charged: %(refunded)s was or is being refunded, and the bank took "
        "%(disputed)s. Show the bank the refund, in the merchant portal."
    ),
    IssueCode.PAID_TWICE: gettext_noop(
        "Paid twice: %(total)s was paid or authorized for %(to_pay)s, by this payment and by %(others)s. Ask "
        "the customer if necessary, and give back what is too much: refund it, or cancel an authorization."
    ),
    IssueCode.CHECKOUT_GONE: gettext_noop(
        "The checkout that this payment is for no longer exists in Saleor, so nobody can place its order. "
        "%(sum)s was paid or authorized: refund it or cancel the authorization, or create the order yourself."
    ),
    IssueCode.NOT_ORDERED: gettext_noop(
        "%(sum)s was paid or authorized for a checkout that was never completed, so the customer has no order. "
        "Complete the checkout in Saleor, or refund it or cancel the authorization."
    ),
    IssueCode.ORDER_CANCELED: gettext_noop(
        "Order %(number)s was cancelled, but %(sum)s was paid or authorized for it: refund it, or cancel the "
        "authorization."
    ),
    IssueCode.ORDER_EXPIRED: gettext_noop(
        "Order %(number)s has expired, but %(sum)s was paid or authorized for it: refund it or cancel the "
        "authorization, or create a new order."
    ),
    IssueCode.ORDER_RETURNED: gettext_noop(
        "Order %(number)s was returned, but %(sum)s was paid or authorized for it afterwards: refund it, or "
        "cancel the authorization."
    ),
    IssueCode.OVERPAID: gettext_noop(
        "%(excess)s more was paid or authorized than is owed: refund that much, or capture that much less, unless "
        "the customer is to pay it."
    ),
    IssueCode.TEST_MONEY: gettext_noop(
        "%(sum)s was paid or authorized in a test project, and the channel takes real money now: you have received "
        "nothing. Do not ship the order before it is really paid; refund this payment, or cancel the authorization."
    ),
    IssueCode.ORDER_NOT_PAID: gettext_noop(
        "Order %(number)s was placed while this payment was pending, and the payment has failed: %(left)s is not "
        "paid. Do not ship the order before it is paid; request another payment, or cancel the order."
    ),
    IssueCode.CHECKOUT_TOTAL_ROSE: gettext_noop(
        "The total of the checkout rose while it was being paid: no order can be placed before another %(left)s "
        "is paid. Ask the customer for it, or refund this payment."
    ),
    IssueCode.ORDER_TOTAL_ROSE: gettext_noop(
        "The total of order %(number)s rose while it was being paid: %(left)s is not paid. Request it from the "
        "customer, or correct the order."
    ),
    IssueCode.RECORDED_AMOUNT: gettext_noop(
        "The gateway's records have a %(what)s of %(said)s where ours have %(ours)s. Compare it with the "
        "merchant portal."
    ),
    IssueCode.RECORDED_STATE: gettext_noop(
        "According to the gateway's records, the %(what)s of %(said)s %(theirs)s; according to ours, it "
        "%(ours)s. Compare it with the merchant portal."
    ),
    IssueCode.RECORDED_RECEIVER: gettext_noop(
        "The gateway's records divide the %(what)s of %(said)s among other sub-merchants, or in another way, "
        "than was requested. Compare it with the merchant portal."
    ),
    IssueCode.RECORDED_CURRENCY: gettext_noop(
        "The gateway's records have a %(what)s of %(said)s in a currency other than the requested one. "
        "Compare it with the merchant portal."
    ),
    IssueCode.RECORD_NOT_IN_SALEOR: gettext_noop(
        "Saleor does not know of the %(what)s of %(said)s in the gateway's records. Compare this payment with "
        "the order in Saleor."
    ),
    IssueCode.RECORD_NOT_SHOWN: gettext_noop(
        "The gateway's records have a %(what)s of %(said)s that its response about this order does not show. "
        "Compare the order with the merchant portal."
    ),
    IssueCode.RECORD_UNREADABLE: gettext_noop(
        "The gateway's records have a line about this order that the app cannot read. Compare it with the "
        "merchant portal."
    ),
    IssueCode.RECORD_MISSING: gettext_noop(
        "The gateway's records have no trace of the %(what)s of %(sum)s, which succeeded according to ours. "
        "Compare it with the merchant portal."
    ),
    IssueCode.REGISTER_NOT_READY: gettext_noop("The gateway is still preparing the register."),
    IssueCode.REGISTER_LATE: gettext_noop("The gateway did not prepare the register in time."),
    IssueCode.RECORDS_NOT_PROVIDED: gettext_noop("The gateway did not provide its records: %(said)s"),
    IssueCode.COMPARISON_FAILED: gettext_noop(
        "Something went wrong in the app: the operator can find out what in its log."
    ),
}
