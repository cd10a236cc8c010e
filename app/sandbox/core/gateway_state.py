"""Everything that the gateway knows, how it is found, and where identifiers come from."""

import hashlib
from datetime import timedelta
from decimal import ROUND_HALF_UP, Decimal
from uuid import NAMESPACE_OID, UUID, uuid5

from pydantic import BaseModel, Field, PrivateAttr

from app.sandbox.core.codes import Status
from app.sandbox.core.records import (
    CardOnFile,
    Fee,
    Operation,
    OperationMethod,
    Payment,
    Register,
    Subscription,
)
from app.sandbox.core.refusals import DuplicateOrderError, UnknownRecordError
from app.sandbox.settings import Behaviour

CENT = Decimal("0.01")


class Script(BaseModel):
    """An outcome that was ordered beforehand: the next matching payments or operations end with this code."""

    script_id: str = ""
    status_code: str = Field(pattern=r"^\d{4}$")
    method: str | None = None
    order_id: str | None = None
    times: int = Field(default=1, ge=1)


class Account(BaseModel):
    """What a merchant project has in one currency."""

    account_id: UUID
    currency: str
    available: Decimal
    reserve: Decimal = Decimal("0.00")


class SubAccount(BaseModel):
    """What a sub-merchant got of split payments in one currency, and what it gave back."""

    sub_merchant_id: UUID
    currency: str
    received: Decimal = Decimal("0.00")
    given_back: Decimal = Decimal("0.00")

    @property
    def balance(self) -> Decimal:
        """What it has."""
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
    """Snapshots that the merchant has to be told of; whoever delivers webhooks takes them from here."""

    _open_entries: dict[UUID, Payment | Operation] = PrivateAttr(default_factory=dict)
    _of_order: dict[tuple[UUID, str], list[Payment]] = PrivateAttr(default_factory=dict)
    _of_page: dict[UUID, Payment] = PrivateAttr(default_factory=dict)
    _of_payment: dict[UUID, list[Operation]] = PrivateAttr(default_factory=dict)

    def model_post_init(self, _context: object) -> None:
        """Find again what was read from a file."""
        for payment in self.payments.values():
            self._index_payment(payment)
        for operation in self.operations.values():
            self._index_operation(operation)

    # Writing -------------------------------------------------------------------------------------------------

    def add_payment(self, payment: Payment) -> None:
        """Write a new payment down."""
        self.payments[payment.payment_id] = payment
        self._index_payment(payment)

    def add_operation(self, operation: Operation) -> None:
        """Write a new operation down."""
        self.operations[operation.operation_id] = operation
        self._index_operation(operation)

    def _index_payment(self, payment: Payment) -> None:
        self._open_entries[payment.payment_id] = payment
        self._of_order.setdefault((payment.pos_id, payment.order_id), []).append(payment)
        self._of_page[payment.checkout_id] = payment

    def _index_operation(self, operation: Operation) -> None:
        self._open_entries[operation.operation_id] = operation
        self._of_payment.setdefault(operation.payment_id, []).append(operation)

    def open_entries(self) -> list[Payment | Operation]:
        """What time may still move: all that is not final, and holds that were neither taken nor given back."""
        for identifier, entry in list(self._open_entries.items()):
            if entry.final and not (isinstance(entry, Payment) and self.is_free_hold(entry)):
                del self._open_entries[identifier]
        return list(self._open_entries.values())

    def is_free_hold(self, payment: Payment) -> bool:
        """Whether a reservation stands that nothing was done about."""
        held = payment.method == "auth" and payment.status is Status.SUCCESS
        return held and not self.living(payment, "capture") and not self.living(payment, "void")

    # Identifiers ---------------------------------------------------------------------------------------------

    def new_id(self) -> UUID:
        """The next identifier: random to look at, the same in every run with the same seed."""
        self.counter += 1
        digest = hashlib.sha256(f"{self.seed}:{self.counter}".encode()).digest()
        return UUID(bytes=digest[:16], version=4)

    def use_order_id(self, pos_id: UUID, order_id: str) -> None:
        """Use up an order id. Raises DuplicateOrderError when that has happened before."""
        key = f"{pos_id}:{order_id}"
        if key in self.used_order_ids:
            raise DuplicateOrderError
        self.used_order_ids.add(key)

    # Finding -------------------------------------------------------------------------------------------------

    def behaviour(self, pos_id: UUID) -> Behaviour:
        """The options of a point of sale."""
        return self.behaviours.setdefault(pos_id, Behaviour())

    def payments_of(self, pos_id: UUID, order_id: str) -> list[Payment]:
        """The payments of an order, oldest first; more than one only when it is a subscription."""
        return self._of_order.get((pos_id, order_id), [])

    def first_payment(self, pos_id: UUID, order_id: str) -> Payment:
        """The payment that an order began with. Raises UnknownRecordError."""
        for payment in self.payments_of(pos_id, order_id):
            return payment
        raise UnknownRecordError("Payment not found")

    def payment_with_page(self, checkout_id: UUID) -> Payment:
        """The payment that a checkout page belongs to. Raises UnknownRecordError."""
        try:
            return self._of_page[checkout_id]
        except KeyError:
            raise UnknownRecordError("Checkout not found") from None

    def operations_of(self, payment: Payment) -> list[Operation]:
        """The operations on a payment, oldest first."""
        return self._of_payment.get(payment.payment_id, [])

    def living(self, payment: Payment, method: OperationMethod) -> list[Operation]:
        """The operations of one method that succeeded or still may."""
        return [
            entry
            for entry in self.operations_of(payment)
            if entry.method == method and entry.status is not Status.FAILURE
        ]

    def records_of(self, pos_id: UUID, order_id: str) -> list[Payment | Operation]:
        """All records of an order, each payment followed by its operations."""
        records: list[Payment | Operation] = []
        for payment in self.payments_of(pos_id, order_id):
            records.append(payment)
            records.extend(self.operations_of(payment))
        return records

    # Money ---------------------------------------------------------------------------------------------------

    def account(self, pos_id: UUID, currency: str) -> Account:
        """The account in one currency; opened with the opening balance when first needed."""
        accounts = self.accounts.setdefault(pos_id, {})
        if currency not in accounts:
            accounts[currency] = Account(
                account_id=uuid5(NAMESPACE_OID, f"{pos_id}:{currency}"),
                currency=currency,
                available=self.behaviour(pos_id).opening_balance,
            )
        return accounts[currency]

    def sub_account(self, pos_id: UUID, sub_merchant_id: UUID, currency: str) -> SubAccount:
        """The account of a sub-merchant in one currency; opened empty when first needed."""
        accounts = self.sub_accounts.setdefault(pos_id, {})
        new = SubAccount(sub_merchant_id=sub_merchant_id, currency=currency)
        return accounts.setdefault(f"{sub_merchant_id}:{currency}", new)

    def fee_for(self, pos_id: UUID, amount: Decimal, currency: str) -> Fee:
        """The commission on an amount, rounded half up to the cent."""
        behaviour = self.behaviour(pos_id)
        percent = (amount * behaviour.fee_percent / 100).quantize(CENT, ROUND_HALF_UP)
        fixed = behaviour.fee_fixed.quantize(CENT)
        return Fee(total=percent + fixed, fixed=fixed, percent=percent, currency=currency)

    def customer_fee(self, pos_id: UUID, amount: Decimal) -> Decimal:
        """What the payer pays on top of an amount, rounded half up to the cent."""
        return (amount * self.behaviour(pos_id).customer_fee_percent / 100).quantize(CENT, ROUND_HALF_UP)

    def take_in(self, entry: Payment | Operation, own: Decimal) -> None:
        """Give the merchant what it has earned by an entry: less the commission, and less what is kept back of it."""
        account = self.account(entry.pos_id, entry.currency)
        entry.reserve = (own * self.behaviour(entry.pos_id).reserve_percent / 100).quantize(CENT, ROUND_HALF_UP)
        account.reserve += entry.reserve
        account.available += own - entry.reserve - (entry.fee.total if entry.fee else 0)

    # Telling -------------------------------------------------------------------------------------------------

    def announce(self, entry: Payment | Operation) -> None:
        """Remember that the merchant must hear of an entry as it is at this moment."""
        self.changes.append(entry.model_copy(deep=True))

    def take_changes(self) -> list[Payment | Operation]:
        """What has not been told yet, oldest first; taken out of the state."""
        changes, self.changes = self.changes, []
        return changes

    def scripted(self, method: str, order_id: str) -> str | None:
        """The code that was ordered for this method and order, used up by asking."""
        for script in self.scripts:
            if script.method in {None, method} and script.order_id in {None, order_id}:
                script.times -= 1
                if script.times == 0:
                    self.scripts.remove(script)
                return script.status_code
        return None
