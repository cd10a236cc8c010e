"""A trial: staff make a small payment on the gateway's page to see that a merchant account works.

It is a payment like any other: intent first, looked up, notified of, refunded and cancelled under the same laws. But
Saleor has no transaction for it, so nothing is reported there: its outbox stays empty (``event_queue.enqueue``).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal
from typing import Any

from app.core.ids import OrderId
from app.core.payment import Payment, PaymentAggregate
from app.core.vocabulary import Flow
from app.flows.execute import execute
from app.flows.initialize import creation_intent, hosted_payment_call
from app.i18n.messages import LazyMessage
from app.rules.balance import check_amount
from app.rules.references import order_id_of
from app.rules.refusal import RefusalCode, RefusalError, Refusals
from app.rules.requests.languages import page_language
from app.rules.requests.payment import check_account
from app.rules.requests.storefront import check_typed_fields, parse_phone
from app.services import Services
from app.store.aggregates import ByTransaction
from app.store.repository import AccountGoneError, NewPayment
from app.store.tables import MerchantAccount
from gateway_client.errors import InvalidRequestError
from gateway_client.models import Sector
from gateway_client.models.payments import HostedPayment
from integration_base.amounts import CENT
from integration_base.outbound import Deadline
from integration_base.typed_text import typed_email

SUGGESTED_AMOUNT = Decimal("1.00")
"""The proposed amount: enough for a bank to take it seriously, and too little to matter."""

_NO_ACCOUNT = LazyMessage("This store has no such merchant account.")
_MISSING = {
    "customer_email": LazyMessage("Enter an e-mail address: the gateway requires one."),
    "customer_phone": LazyMessage("Enter a phone number: the gateway requires one."),
    "customer_fname": LazyMessage("Enter a first name: the gateway requires one."),
    "customer_lname": LazyMessage("Enter a last name: the gateway requires one."),
    "customer_birthday": LazyMessage("Enter the date of birth, like 1991-08-24: the gateway requires it."),
}


@dataclass(frozen=True, slots=True)
class Trial:
    """A trial payment requested by a person. ``by`` is that person; ``key`` identifies the request.

    The gateway requires an e-mail address and a phone number of every shopper; of some merchants' shoppers also names
    and a date of birth.
    """

    key: str
    by: str
    amount: Decimal
    currency: str
    email: str
    phone: str
    first_name: str = ""
    last_name: str = ""
    birthday: date | None = None
    language: str = "en"

    @property
    def transaction_id(self) -> str:
        """The transaction id, where other payments have Saleor's; no id of Saleor's looks like it."""
        return f"trial:{self.key}"


async def begin_trial(services: Services, account: MerchantAccount, trial: Trial) -> PaymentAggregate:
    """Open a payment page and return its payment, whatever the outcome.

    Idempotent: the same trial requested twice is one payment. Raises RefusalError; then nothing was sent or recorded.
    """
    deadline = Deadline(services.schedule.budget.total_seconds())
    store = await services.installations.get(account.installation_id)
    request = _build_request(services, account, trial, store.saleor_api_url)
    client = services.gateways.client(account)  # fails here if the keys do not open, before anything is recorded
    try:
        journaled = await services.payments.begin(_new_payment(services, account, trial, request))
    except AccountGoneError:  # deleted by somebody else, while this request still knew it
        raise RefusalError(RefusalCode.NOT_POSSIBLE, _NO_ACCOUNT) from None
    if journaled is None:
        known = await services.payments.find(ByTransaction(account.installation_id, trial.transaction_id))
        assert known is not None  # noqa: S101 - `begin` returns None only if it exists
        return known
    call = hosted_payment_call(client, request, qr=False)
    return await execute(services, journaled, journaled.create, call, deadline, answering=False)


def check_trial(account: MerchantAccount, trial: Trial) -> None:
    """Check what a person can correct. Raises RefusalError with all reasons, each with its field. Pure."""
    refusals = Refusals()
    refusals.collect(check_account, account, "", trial.currency)
    refusals.collect(check_amount, trial.amount, trial.currency)
    for field, value in _required(account, trial).items():
        refusals.collect(_require, field, value)
    typed = {"customer_email": trial.email, "customer_fname": trial.first_name, "customer_lname": trial.last_name}
    for field, text in typed.items():
        refusals.collect(check_typed_fields, {field: text}, trial.language)
    refusals.raise_if_any()


def _required(account: MerchantAccount, trial: Trial) -> Mapping[str, object]:
    """Return the fields that the gateway or the merchant requires of the shoppers."""
    required: dict[str, object] = {
        "customer_email": typed_email(trial.email),
        "customer_phone": parse_phone(trial.phone),
    }
    if account.names_required or account.sector != Sector.GENERAL:
        required |= {"customer_fname": trial.first_name, "customer_lname": trial.last_name}
    if account.sector == Sector.MICROFINANCE:
        required["customer_birthday"] = trial.birthday
    return required


def _require(field: str, value: object) -> None:
    if not value:
        raise RefusalError(RefusalCode.INVALID_DATA, _MISSING[field], field)


def _build_request(services: Services, account: MerchantAccount, trial: Trial, saleor_api_url: str) -> HostedPayment:
    """Return the request (gateway interface, 1b), without products or shares: nothing was sold. Raises RefusalError."""
    check_trial(account, trial)
    order_id = order_id_of(trial.transaction_id, saleor_api_url)
    fields: dict[str, Any] = {
        "amount": trial.amount.quantize(CENT),
        "currency": trial.currency,
        "order_id": order_id,
        "description": f"Trial payment {order_id}",
        "order_3ds_bypass": account.order_3ds_bypass,
        "customer_email": typed_email(trial.email),
        "customer_phone": parse_phone(trial.phone),
        "customer_fname": trial.first_name or None,
        "customer_lname": trial.last_name or None,
        "customer_birthday": trial.birthday,
        "customer_lang": page_language(trial.language),
        "order_timeout": account.order_timeout,
        "server_url": services.addresses.notifications(account.id),
        "result_url": services.addresses.return_page(order_id),
        "merchant_mcc": account.merchant_mcc,
    }
    try:
        request = HostedPayment(**fields)
        request.check_sector(Sector(account.sector))
    except InvalidRequestError as exc:
        message = f"The gateway does not accept this: {exc.message}."
        raise RefusalError(RefusalCode.INVALID_DATA, message, exc.field) from exc
    return request


def _new_payment(services: Services, account: MerchantAccount, trial: Trial, request: HostedPayment) -> NewPayment:
    """Return the payment and intent to be committed before the call (laws of money, 1)."""
    now = services.now()
    payment = Payment(
        installation_id=account.installation_id,
        account_id=account.id,
        transaction_id=trial.transaction_id,
        order_id=OrderId(request.order_id),
        trial=True,
        flow=Flow.CHARGE,
        amount=request.amount,
        currency=request.currency,
        channel="",
        source_id=trial.transaction_id,
        email_digest=services.emails.digest_to_store(account.installation_id, request.customer_email),
        language=trial.language,
        expires_at=now + timedelta(seconds=account.order_timeout),
        created_at=now,
        updated_at=now,
    )
    return NewPayment(payment, creation_intent(services, request, payment, by=trial.by[:200]))
