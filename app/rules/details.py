"""The details in gateway records besides the state: stored for staff; and the payment method, for Saleor."""

import re
from collections.abc import Iterator, Mapping
from datetime import datetime
from decimal import Decimal
from typing import Any, Self

from pydantic import BaseModel, ConfigDict

from app.core.payment import Operation
from app.i18n.messages import Joined, LazyMessage, Money, Value, Verbatim
from app.rules.stated_times import can_end_limit
from gateway_client.errors import sanitize
from gateway_client.models import OperationRecord, PaymentRecord, Status
from gateway_client.models.records import Fee
from gateway_client.models.values import absolute_url
from saleor_app_sdk.payment_methods import CardDetails, OtherMethod, PaymentMethod

_LONGEST_URL = 2000
_LONGEST_NAME = 256
_MASK = re.compile(r"(\d{0,8})\D+(\d{4})")


class _StoredModel(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore", hide_input_in_errors=True)


class StatedSum(_StoredModel):
    """An amount from a gateway record: a fee may have more than two decimals, and be in another currency."""

    amount: Decimal
    currency: str | None = None

    def __str__(self) -> str:
        return str(self.render())

    def render(self) -> Value:
        """Return the amount for a message, with its currency if known."""
        return Money(self.amount, self.currency) if self.currency else self.amount


class Details(_StoredModel):
    """Gateway interface, Payment record and Secondary operation record; fields that the gateway left out are None.

    ``gateway_order_id`` and ``billing_order_id`` are the acquirer's ids of the payment, ``transaction_id`` is the
    gateway's own. ``processed`` is the amount that the payer actually paid, where the payer may change it.
    ``retry_after`` and ``limit`` are set when a limit caused the decline. Timestamps are in UTC.
    ``turned_away_at``: when the gateway first did not take what had waited for its turn; and ``newer_try``: see
    ``Operation``. Both are our own words.
    """

    payment_id: str | None = None
    transaction_id: str | None = None
    gateway_order_id: str | None = None
    billing_order_id: str | None = None
    card_mask: str | None = None
    payway: str | None = None
    bank: str | None = None
    eci: str | None = None
    fee: StatedSum | None = None
    fixed_fee: StatedSum | None = None
    percent_fee: StatedSum | None = None
    split_fees: tuple[StatedSum, ...] | None = None
    processed: StatedSum | None = None
    receipt_url: str | None = None
    retry_after: datetime | None = None
    limit: str | None = None
    created_at: datetime | None = None
    processed_at: datetime | None = None
    turned_away_at: datetime | None = None
    newer_try: str | None = None

    @classmethod
    def from_record(cls, record: PaymentRecord | OperationRecord) -> Self:
        """Return the details in a record. Never raises: malformed values are left out."""
        info = record.limit_info
        fields: dict[str, Any] = {
            "payment_id": _name(record.payment_id),
            "transaction_id": _name(record.transaction_id),
            "fee": _sum(record.fee),
            "receipt_url": web_address(record.receipt_url),
            "retry_after": info.retry_after if info else None,
            "limit": _name(info.description) if info else None,
            "created_at": record.created_at,
            "processed_at": record.processed_at,
        }
        if isinstance(record, PaymentRecord):
            fields |= {
                "gateway_order_id": _name(record.gateway_order_id),
                "billing_order_id": _name(record.billing_order_id),
                "card_mask": card_mask(record.cc_mask),
                "payway": _name(record.payway),
                "bank": _name(record.bank_short_name),
                "eci": _name(record.eci),
                "fixed_fee": _sum(record.fixed_fee),
                "percent_fee": _sum(record.percent_fee),
            }
            if record.processed_amount is not None and record.status is Status.SUCCESS:
                fields["processed"] = StatedSum(
                    amount=record.processed_amount, currency=_currency(record.processed_currency)
                )
        else:
            fields["split_fees"] = _sums(record.split_fee)
        return cls(**fields)

    @classmethod
    def from_row(cls, row: Mapping[str, Any]) -> Self:
        """Return the details from ``Operation.details``."""
        return cls.model_validate(row)

    def to_row(self) -> dict[str, Any]:
        """Return JSON for ``Operation.details``: amounts as strings, without fields that are None."""
        return self.model_dump(mode="json", exclude_none=True)

    def merged_with(self, later: Self) -> Self:
        """Return these details with those of ``later``, which take precedence where both are set."""
        fields = {name: value for name in type(self).model_fields if (value := getattr(later, name)) is not None}
        return self.model_copy(update=fields)

    def as_of(self, arrived_at: datetime) -> Self:
        """Return the details in a message that arrived then, without a time to try again that cannot be."""
        if self.retry_after is None or can_end_limit(self.retry_after, arrived_at):
            return self
        return self.model_copy(update={"retry_after": None})

    def lines(self) -> Iterator[tuple[LazyMessage, Value]]:
        """Return the labels and values that staff are shown, the most frequently needed first."""
        lines: tuple[tuple[LazyMessage, Value | None], ...] = (
            (LazyMessage("card"), self.card_mask),
            (LazyMessage("payment method"), self.payway),
            (LazyMessage("bank"), self.bank),
            (LazyMessage("actually paid"), self.processed.render() if self.processed else None),
            (LazyMessage("fee"), self._fee()),
            (LazyMessage("fees on the shares"), Joined(tuple(fee.render() for fee in self.split_fees or ()))),
            (LazyMessage("receipt"), self.receipt_url),
            (LazyMessage("limit"), Verbatim(self.limit or "")),
            (LazyMessage("can be retried after"), self.retry_after),
            (LazyMessage("payment at the gateway"), self.payment_id),
            (LazyMessage("transaction at the gateway"), self.transaction_id),
            (LazyMessage("order at the acquirer"), self.gateway_order_id),
            (LazyMessage("billing order"), self.billing_order_id),
            (LazyMessage("3-D Secure result (ECI)"), self.eci),
            (LazyMessage("processed at"), self.processed_at),
        )
        return ((name, value) for name, value in lines if value and str(value))

    def _fee(self) -> Value | None:
        if self.fee is None:
            return None
        parts = []
        if self.fixed_fee is not None:
            parts.append(LazyMessage("%(sum)s fixed", sum=self.fixed_fee.render()))
        if self.percent_fee is not None:
            parts.append(LazyMessage("%(sum)s by percentage", sum=self.percent_fee.render()))
        total = self.fee.render()
        return LazyMessage("%(sum)s (%(parts)s)", sum=total, parts=Joined(tuple(parts))) if parts else total


def web_address(url: str | None) -> str | None:
    """Return ``url`` if it is an absolute http(s) address of acceptable length, else None: people click on it."""
    try:
        return absolute_url(url) if url and len(url) <= _LONGEST_URL else None
    except ValueError:
        return None


def card_mask(mask: str | None) -> str | None:
    """Return the mask in the interface's format, ``424242******4242``; None when ``mask`` is not a mask."""
    digits = _MASK.fullmatch("".join((mask or "").split()))
    return f"{digits[1][:6]:*<12}{digits[2]}" if digits else None


def _name(text: str | None) -> str | None:
    return sanitize(text or "")[:_LONGEST_NAME] or None


def _sum(fee: Fee | None) -> StatedSum | None:
    return None if fee is None else StatedSum(amount=fee.amount, currency=_currency(fee.currency))


def _currency(code: str | None) -> str | None:
    return _name((code or "").strip().upper())


def _sums(fees: Fee | list[Fee] | None) -> tuple[StatedSum, ...] | None:
    listed = fees if isinstance(fees, list) else [fees]
    return tuple(each for fee in listed if (each := _sum(fee)) is not None) or None


_CARD = "cc"  # the gateway's value for a card (gateway facts, 5: payway)


def payment_method_of(record: PaymentRecord) -> PaymentMethod | None:
    """Return a card by its mask, another method by the gateway's name for it; None when the record has neither."""
    mask = card_mask(record.cc_mask)
    if mask is not None:
        brand = card_brand(mask)
        return CardDetails.from_known(
            name=f"{brand or 'Card'} ****{mask[-4:]}", brand=brand, first_digits=mask[:4], last_digits=mask[-4:]
        )
    name = " ".join((record.payway or "").replace("_", " ").split())
    if not name or not name.isprintable():
        return None
    return CardDetails(name="Card") if name.lower() == _CARD else OtherMethod(name=name[:1].upper() + name[1:256])


def payment_method_to_row(method: PaymentMethod | None) -> dict[str, Any] | None:
    """Return the JSON that is stored in a row."""
    if method is None:
        return None
    return {"type": "CARD" if isinstance(method, CardDetails) else "OTHER"} | method.model_dump(exclude_none=True)


def payment_method_from_row(row: Mapping[str, Any] | None) -> PaymentMethod | None:
    """Return the payment method that is stored in a row. Without a type it is a card: the first rows had only cards."""
    if not row:
        return None
    details = {name: value for name, value in row.items() if name != "type"}
    return OtherMethod(**details) if row.get("type") == "OTHER" else CardDetails.from_known(**details)


def update_details(operation: Operation, stated: Details, *, behind: bool) -> None:
    """Store a record's details, also of an operation that is final: its fee and its receipt may arrive late.

    ``behind``: it is of an earlier state, or does not match the request; then it only fills in what is not known.
    """
    known = Details.from_row(operation.details)
    merged = stated.merged_with(known) if behind else known.merged_with(stated)
    if merged != known:
        operation.details = merged.to_row()


def forget_decline(operation: Operation) -> None:
    """Drop what explained that an operation was declined, and what was tried after it: it has succeeded after all."""
    known = Details.from_row(operation.details)
    forgotten = known.model_copy(update={"retry_after": None, "limit": None, "newer_try": None})
    if forgotten != known:
        operation.details = forgotten.to_row()


_WALLETS = {"applepay": "Apple Pay", "googlepay": "Google Pay", "gpay": "Google Pay"}


def wallet_name(name: str | None) -> str | None:
    """Return the display name of a wallet, from our name or the gateway's for it; None when it is not a known one."""
    return _WALLETS.get(re.sub(r"[^a-z]", "", (name or "").lower()))


def payment_means_text(mask: str | None, payway: str | None, wallet: str | None = None) -> str | None:
    """Return the payment method as text for people; None when it is not known.

    ``Visa •••• 4242``, ``Apple Pay · Visa •••• 4242``, ``Bank pay``. ``wallet``: the wallet in our request; one that
    was chosen on the payment page is known only from the gateway's ``payway``.
    """
    name = " ".join((payway or "").replace("_", " ").split())
    way = wallet_name(wallet) or wallet_name(payway)
    if mask is not None:
        card = f"{card_brand(mask) or ''} •••• {mask[-4:]}".strip()
        return card if way is None else f"{way} · {card}"
    return way or (None if name.lower() in {"", _CARD} else name[:1].upper() + name[1:])


def card_brand(mask: str) -> str | None:
    """Return the brand of a card by the first digits of its mask; None when they do not determine it."""
    if mask.startswith("4"):
        return "Visa"
    first_two = mask[:2]
    if first_two.isdigit() and (51 <= int(first_two) <= 55 or 22 <= int(first_two) <= 27):
        return "Mastercard"
    return None
