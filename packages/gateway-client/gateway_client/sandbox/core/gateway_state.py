"""The state of the gateway, the look-ups in it, and the source of identifiers."""

import hashlib
from datetime import timedelta
from decimal import ROUND_HALF_UP, Decimal
from uuid import NAMESPACE_OID, UUID, uuid5

from pydantic import BaseModel, Field, PrivateAttr

from gateway_client.sandbox.core.codes import Status
from gateway_client.sandbox.core.records import (
    CardOnFile,
    Fee,
    Operation,
    OperationMethod,
    Payment,
    Register,
    Subscription,
)
from gateway_client.sandbox.core.refusals import DuplicateOrderError, UnknownRecordError
from gateway_client.sandbox.settings import Behaviour

CENT = Decimal("0.01")


class Script(BaseModel):
    """An outcome scripted in advance: the next matching payments or operations end with this code."""

    script_id: str = ""
    status_code: str = Field(pattern=r"^\d{4}$")
    method: str | None = None
    order_id: str | None = None
    times: int = Field(default=1, ge=1)


class Account(BaseModel):
    """The account of a merchant project in one currency."""

    account_id: UUID
    currency: str
    available: Decimal
    reserve: Decimal = Decimal("0.00")


class SubAccount(BaseModel):
    """What a sub-merchant has received from split payments in one currency, and what it has given back."""

    sub_merchant_id: UUID
    currency: str
    received: Decimal = Decimal("0.00")
    given_back: Decimal = Decimal("0.00")

    @property
    def balance(self) -> Decimal:
        """What the sub-merchant still has."""
        return self.received - self.given_back


class GatewayState(BaseModel):
    """All state of a sandbox gateway. Every change goes through the rules in this package."""

    seed: str
    counter: int = 0
    clock_offset: timedelta = timedelta(0)
    behaviours: dict[UUID, Behaviour] = Field(default_factory=dict)
    payments: dict[UUID, Payment] = Field(default_factory=dict)
    operations: dict[UUID, Operation] = Field(default_factory=dict)
    used_order_ids: set[str] = Field(default_factory=set)
    cards: dict[str, CardOnFile] = Field(default_factory=dict)
    accounts: dict[UUID, dict[str, Account]] = Field(default_factory=dict)
    sub_accounts: dict[UUID, dict[str, SubAccount]] = Field(default_factory=dict)
    subscriptions: dict[UUID, Subscription] = Field(default_factory=dict)
    registers: dict[str, Register] = Field(default_factory=dict)
    scripts: list[Script] = Field(default_factory=list)
    changes: list[Payment | Operation] = Field(default_factory=list)
    """Snapshots that the merchant must be notified of; the delivery of webhooks takes them from here."""

    _open_entries: dict[UUID, Payment | Operation] = PrivateAttr(default_factory=dict)
    _payments_by_order: dict[tuple[UUID, str], list[Payment]] = PrivateAttr(default_factory=dict)
    _payments_by_checkout: dict[UUID, Payment] = PrivateAttr(default_factory=dict)
    _operations_by_payment: dict[UUID, list[Operation]] = PrivateAttr(default_factory=dict)

    def model_post_init(self, _context: object) -> None:
        """Index the records that were loaded from a file."""
        for payment in self.payments.values():
            self._index_payment(payment)
        for operation in self.operations.values():
            self._index_operation(operation)

    # Writing -------------------------------------------------------------------------------------------------

    def add_payment(self, payment: Payment) -> None:
        """Add a new payment."""
        self.payments[payment.payment_id] = payment
        self._index_payment(payment)

    def add_operation(self, operation: Operation) -> None:
        """Add a new operation."""
        self.operations[operation.operation_id] = operation
        self._index_operation(operation)

    def _index_payment(self, payment: Payment) -> None:
        self._open_entries[payment.payment_id] = payment
        self._payments_by_order.setdefault((payment.pos_id, payment.order_id), []).append(payment)
        self._payments_by_checkout[payment.checkout_id] = payment

    def _index_operation(self, operation: Operation) -> None:
        self._open_entries[operation.operation_id] = operation
        self._operations_by_payment.setdefault(operation.payment_id, []).append(operation)

    def open_entries(self) -> list[Payment | Operation]:
        """Return the entries that time may still change: those not final, and holds neither captured nor voided."""
        for identifier, entry in list(self._open_entries.items()):
            if entry.final and not (isinstance(entry, Payment) and self.is_open_hold(entry)):
                del self._open_entries[identifier]
        return list(self._open_entries.values())

    def is_open_hold(self, payment: Payment) -> bool:
        """Whether a payment is a successful reservation of which something can still be captured or voided."""
        held = payment.method == "auth" and payment.status is Status.SUCCESS
        return held and self.uncaptured_amount(payment) > 0 and not self.active_operations(payment, "void")

    def uncaptured_amount(self, payment: Payment) -> Decimal:
        """Return what captures have left of a reservation: nothing where a part capture releases the rest."""
        captures = list(self.active_operations(payment, "capture"))
        if captures and self.behaviour(payment.pos_id).part_capture == "releases_rest":
            return Decimal(0)
        return payment.amount - sum((capture.amount for capture in captures), Decimal(0))

    # Identifiers ---------------------------------------------------------------------------------------------

    def new_id(self) -> UUID:
        """Return the next identifier: it looks random, and is the same in every run with the same seed."""
        self.counter += 1
        digest = hashlib.sha256(f"{self.seed}:{self.counter}".encode()).digest()
        return UUID(bytes=digest[:16], version=4)

    def use_order_id(self, pos_id: UUID, order_id: str) -> None:
        """Mark an order id as used. Raises DuplicateOrderError when it was used before."""
        key = f"{pos_id}:{order_id}"
        if key in self.used_order_ids:
            raise DuplicateOrderError
        self.used_order_ids.add(key)

    # Look-ups ------------------------------------------------------------------------------------------------

    def behaviour(self, pos_id: UUID) -> Behaviour:
        """Return the options of a point of sale."""
        return self.behaviours.setdefault(pos_id, Behaviour())

    def payments_of(self, pos_id: UUID, order_id: str) -> list[Payment]:
        """Return the payments of an order, oldest first; more than one only for a subscription."""
        return self._payments_by_order.get((pos_id, order_id), [])

    def first_payment(self, pos_id: UUID, order_id: str) -> Payment:
        """Return the first payment of an order. Raises UnknownRecordError."""
        for payment in self.payments_of(pos_id, order_id):
            return payment
        raise UnknownRecordError("Payment not found")

    def payment_by_checkout_id(self, checkout_id: UUID) -> Payment:
        """Return the payment that a checkout page belongs to. Raises UnknownRecordError."""
        try:
            return self._payments_by_checkout[checkout_id]
        except KeyError:
            raise UnknownRecordError("Checkout not found") from None

    def operations_of(self, payment: Payment) -> list[Operation]:
        """Return the operations on a payment, oldest first."""
        return self._operations_by_payment.get(payment.payment_id, [])

    def active_operations(self, payment: Payment, method: OperationMethod) -> list[Operation]:
        """Return the operations of one method that succeeded or still may succeed."""
        return [
            entry
            for entry in self.operations_of(payment)
            if entry.method == method and entry.status is not Status.FAILURE
        ]

    def records_of(self, pos_id: UUID, order_id: str) -> list[Payment | Operation]:
        """Return all records of an order, each payment followed by its operations."""
        records: list[Payment | Operation] = []
        for payment in self.payments_of(pos_id, order_id):
            records.append(payment)
            records.extend(self.operations_of(payment))
        return records

    # Money ---------------------------------------------------------------------------------------------------

    def account(self, pos_id: UUID, currency: str) -> Account:
        """Return the account in one currency; opened with the opening balance when first needed."""
        accounts = self.accounts.setdefault(pos_id, {})
        if currency not in accounts:
            accounts[currency] = Account(
                account_id=uuid5(NAMESPACE_OID, f"{pos_id}:{currency}"),
                currency=currency,
                available=self.behaviour(pos_id).opening_balance,
            )
        return accounts[currency]

    def sub_account(self, pos_id: UUID, sub_merchant_id: UUID, currency: str) -> SubAccount:
        """Return the account of a sub-merchant in one currency; opened empty when first needed."""
        accounts = self.sub_accounts.setdefault(pos_id, {})
        new = SubAccount(sub_merchant_id=sub_merchant_id, currency=currency)
        return accounts.setdefault(f"{sub_merchant_id}:{currency}", new)

    def fee_for(self, pos_id: UUID, amount: Decimal, currency: str) -> Fee:
        """Return the commission on an amount, rounded half up to the cent."""
        behaviour = self.behaviour(pos_id)
        percent = (amount * behaviour.fee_percent / 100).quantize(CENT, ROUND_HALF_UP)
        fixed = behaviour.fee_fixed.quantize(CENT)
        return Fee(total=percent + fixed, fixed=fixed, percent=percent, currency=currency)

    def customer_fee(self, pos_id: UUID, amount: Decimal) -> Decimal:
        """Return the fee that the payer pays on top of an amount, rounded half up to the cent."""
        return (amount * self.behaviour(pos_id).customer_fee_percent / 100).quantize(CENT, ROUND_HALF_UP)

    def credit_merchant(self, entry: Payment | Operation, own: Decimal) -> None:
        """Credit the merchant with what an entry earned, less the commission and the rolling reserve."""
        account = self.account(entry.pos_id, entry.currency)
        entry.reserve = (own * self.behaviour(entry.pos_id).reserve_percent / 100).quantize(CENT, ROUND_HALF_UP)
        account.reserve += entry.reserve
        account.available += own - entry.reserve - (entry.fee.total if entry.fee else 0)

    # Changes -------------------------------------------------------------------------------------------------

    def record_change(self, entry: Payment | Operation) -> None:
        """Record that the merchant must be notified of an entry's current state."""
        self.changes.append(entry.model_copy(deep=True))

    def take_changes(self) -> list[Payment | Operation]:
        """Return the changes not yet notified, oldest first, and remove them from the state."""
        changes, self.changes = self.changes, []
        return changes

    def take_scripted_code(self, method: str, order_id: str) -> str | None:
        """Return the code scripted for this method and order, and count one use of it; None when there is none."""
        for script in self.scripts:
            if script.method in {None, method} and script.order_id in {None, order_id}:
                script.times -= 1
                if script.times == 0:
                    self.scripts.remove(script)
                return script.status_code
        return None
