"""The gateway as a small machine: one order, its operations, and the notifications that are on their way.

Rules: gateway interface, States and transitions. Every change of a record is notified.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Any

from gateway_client.models import OperationRecord, PaymentRecord, Records
from tests.payments.aggregates import POS

CANCELLED, EXPIRED, DECLINED = "6007", "4149", "4009"
_CODES = {"success": "1000", "failure": DECLINED, "pending": "2001", "init": None}
_OPERATION_CODES = {"capture": "1000", "void": "1009", "refund": "1004"}
_COUNTED = {"pending", "success"}
ZERO = Decimal("0.00")


@dataclass
class Record:
    """A payment, or an operation on it: ``method`` is purchase, auth, capture, void, refund or dispute.

    The interface shows no record of a dispute; it comes like a payment of its own under the order. ``turned``: its
    final status was another one before.
    """

    id: str
    method: str
    amount: Decimal
    status: str
    code: str | None
    mode: str = "hosted"
    turned: bool = False

    def read_as(self, order_id: str) -> PaymentRecord | OperationRecord:
        """Return the record as the app's client reads it."""
        is_payment = self.method in {"purchase", "auth", "dispute"}
        members: dict[str, Any] = {
            "payment_id": self.id if is_payment else f"payment-of-{order_id}",
            "order_id": order_id,
            "pos_id": POS,
            "mode": self.mode if self.method in {"purchase", "auth"} else "direct",
            "method": self.method,
            "amount": self.amount,
            "currency": "UAH",
            "status": self.status,
            "status_code": self.code,
        }
        if is_payment:
            return PaymentRecord.model_validate(members)
        return OperationRecord.model_validate(members | {"operation_id": self.id})


@dataclass
class GatewayOrder:
    """One order at the gateway. ``notifications`` are snapshots of records that no notification has delivered yet."""

    order_id: str
    records: list[Record] = field(default_factory=list)
    notifications: list[Record] = field(default_factory=list)

    @property
    def payment(self) -> Record | None:
        """The payment, once its page was opened."""
        return self.records[0] if self.records else None

    def done(self, *methods: str) -> Decimal:
        """Return the sum of what succeeded of these methods."""
        return sum((one.amount for one in self.records if one.method in methods and one.status == "success"), ZERO)

    @property
    def charged(self) -> Decimal:
        """What was taken from the shopper."""
        return self.done("purchase", "capture")

    @property
    def refunded(self) -> Decimal:
        """What was given back."""
        return self.done("refund")

    @property
    def disputed(self) -> Decimal:
        """What the payer's bank took back."""
        return self.done("dispute")

    @property
    def dispute(self) -> Record | None:
        """The dispute, once the payer has opened one."""
        return next((record for record in self.records if record.method == "dispute"), None)

    @property
    def reserved(self) -> Decimal:
        """What is left of a reservation: a capture releases the rest, as a void does."""
        return ZERO if self._sum("capture", "void") else self.done("auth")

    def shown(self) -> Records:
        """Return what a look-up shows: every record of the order."""
        return Records([record.read_as(self.order_id) for record in self.records])

    def create(self, method: str, amount: Decimal, mode: str = "hosted") -> Record:
        """Open a page, or begin to charge a card. An order id is used once."""
        assert not self.records
        record = Record(f"payment-of-{self.order_id}", method, amount, "init", None, mode)
        self.records.append(record)
        return record

    def change(self, record: Record, status: str, code: str | None = None) -> None:
        """Change a record, and notify of it."""
        record.status = status
        default = _OPERATION_CODES.get(record.method, "1000") if status == "success" else _CODES[status]
        record.code = code or default
        self.notifications.append(replace(record))

    def allows(self, method: str, amount: Decimal) -> bool:
        """Return whether an operation is possible now."""
        payment = self.payment
        if payment is None or payment.status != "success":
            return False
        if method in {"capture", "void"}:
            return payment.method == "auth" and not self._sum("capture", "void") and amount <= payment.amount
        return self._sum("refund") + amount <= self.charged

    def operate(self, method: str, amount: Decimal, status: str) -> Record:
        """Carry an operation out, or begin to, or decline it."""
        record = Record(f"{method}-{len(self.records)}", method, amount, "init", None)
        self.records.append(record)
        self.change(record, status)
        return record

    def _sum(self, *methods: str) -> Decimal:
        counted = (one.amount for one in self.records if one.method in methods and one.status in _COUNTED)
        return sum(counted, ZERO)


def pending_records(order: GatewayOrder) -> Sequence[Record]:
    """Return what the bank has not decided yet."""
    return [record for record in order.records if record.status == "pending"]
