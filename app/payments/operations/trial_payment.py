"""A trial: staff make a small payment at the gateway's page to see that a merchant account works.

It is a payment like any other: intent first, looked up, notified of, refunded and cancelled under the same laws. Only
Saleor has no transaction of it, so nothing is told there: its outbox stays empty (``apply``).
"""

from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal
from functools import partial
from typing import Any

from app.db.aggregates import ByTransaction, PaymentAggregate
from app.db.repository import NewPayment
from app.db.tables import Flow, MerchantAccount, Payment
from app.gateway.errors import InvalidRequestError
from app.gateway.models import Sector
from app.gateway.models.payments import HostedPayment
from app.outbound import Deadline
from app.payments.core.balance import check_amount
from app.payments.core.references import order_id_of
from app.payments.core.refusal import RefusalCode, RefusalError
from app.payments.operations.execute import execute
from app.payments.operations.initialize import creation_of, open_page
from app.payments.requests.payment import check_account
from app.payments.requests.storefront import check_typed, page_language
from app.payments.services import Services
from app.payments.split.planning import shares_said

SMALLEST = Decimal("1.00")
"""What is proposed: enough for a bank to take it seriously, and little enough to forget."""

_NAMES = {
    "customer_email": "e-mail address",
    "customer_phone": "phone number",
    "customer_fname": "first name",
    "customer_lname": "last name",
    "customer_birthday": "date of birth",
}


@dataclass(frozen=True, slots=True)
class Trial:
    """What somebody wants to try. ``by`` is the person; ``key`` tells this wish from every other one.

    The gateway asks an e-mail address and a phone number of every shopper; of some merchants' shoppers also names, and
    a date of birth.
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
        """Stands where other payments have Saleor's; no id of Saleor's looks like it."""
        return f"trial:{self.key}"


async def begin_trial(services: Services, account: MerchantAccount, trial: Trial) -> PaymentAggregate:
    """Open a payment page and return its payment, whatever came of it.

    The same wish twice is one payment. Raises RefusalError: then nothing was asked and nothing is recorded.
    """
    deadline = Deadline(services.schedule.budget.total_seconds())
    store = await services.installations.get(account.installation_id)
    request = _request(services, account, trial, store.saleor_api_url)
    client = services.gateways.client(account)  # keys that do not open fail here, while nothing is recorded yet
    journaled = await services.payments.begin(_new_payment(services, account, trial, request))
    if journaled is None:
        known = await services.payments.find(ByTransaction(account.installation_id, trial.transaction_id))
        assert known is not None  # noqa: S101 - it is there, or it could have been recorded
        return known
    call = open_page(client, request, qr=False)
    return await execute(services, journaled, journaled.create, call, deadline, answering=False)


def _request(services: Services, account: MerchantAccount, trial: Trial, saleor_api_url: str) -> HostedPayment:
    """Return what the gateway is asked (gateway interface, 1b): no products and no shares, nothing was sold."""
    amount = check_amount(trial.amount)
    check_account(account, "", trial.currency)
    typed = {"customer_email": trial.email, "customer_fname": trial.first_name, "customer_lname": trial.last_name}
    check_typed(typed, trial.language)
    order_id = order_id_of(trial.transaction_id, saleor_api_url)
    said: dict[str, Any] = {
        "amount": amount,
        "currency": trial.currency,
        "order_id": order_id,
        "description": f"Trial payment {order_id}",
        "order_3ds_bypass": account.order_3ds_bypass,
        "customer_email": trial.email,
        "customer_phone": trial.phone,
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
        request = HostedPayment(**said)
        request.check_sector(Sector(account.sector))
    except InvalidRequestError as exc:
        words = f"The gateway needs the {_NAMES.get(exc.field, exc.field)}: {exc.limit}."
        raise RefusalError(RefusalCode.INVALID_DATA, words, exc.field) from exc
    return request


def _new_payment(services: Services, account: MerchantAccount, trial: Trial, request: HostedPayment) -> NewPayment:
    """Return what is about to be asked, to be committed before (laws of money, 1)."""
    now = services.now()
    payment = partial(
        Payment,
        installation_id=account.installation_id,
        account_id=account.id,
        transaction_id=trial.transaction_id,
        order_id=request.order_id,
        trial=True,
        flow=Flow.CHARGE,
        amount=request.amount,
        currency=request.currency,
        channel="",
        source_id=trial.transaction_id,
        email_digest=services.emails.kept(account.installation_id, request.customer_email),
        language=trial.language,
        expires_at=now + timedelta(seconds=account.order_timeout),
        created_at=now,
        updated_at=now,
    )
    return NewPayment(payment, partial(creation_of, services, request, by=trial.by[:200]), shares_said)
