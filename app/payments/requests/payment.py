"""From Saleor's question to the gateway's request: what will be asked, or why it will not. Pure.

Everything is checked before any row is written and before any call is made.

What a payment says of itself names no person, and there is no placeholder for one: shoppers read its description, the
store's own words with the payment's references in them, on the payment page. Staff search for ``attributes`` in the
merchant portal; ``payload`` comes back in registers, so that each of their lines leads to Saleor.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from app.amounts import CENT
from app.db.tables import Flow, MerchantAccount
from app.gateway.errors import InvalidRequestError
from app.gateway.models import Attribute, Method, Sector
from app.gateway.models.payments import HostedPayment, Payment
from app.payments.core.balance import check_amount
from app.payments.core.references import order_id_of
from app.payments.core.refusal import RefusalCode, RefusalError
from app.payments.requests.storefront import (
    StorefrontData,
    allowed_return_url,
    base_language,
    check_typed,
    page_language,
    read_data,
    storefront_path,
)
from app.payments.requests.subscription import recurring_plan
from app.payments.services import Addresses
from app.payments.split.planning import split_of_payment
from app.payments.split.products import products_of
from app.saleor.events import SessionEvent, TransactionInitializeSession, TransactionProcessSession
from app.saleor.source import Order

_METHODS = {Flow.CHARGE: Method.PURCHASE, Flow.AUTHORIZATION: Method.AUTH}


RequestT = TypeVar("RequestT", bound=Payment)


_LONGEST_REFERENCE = 250  # none of Saleor's comes near; all of them together fit into the payload's 4000 characters
LONGEST_TEMPLATE = 500
LONGEST_DESCRIPTION = 2048  # gateway interface, Limits
PLACEHOLDERS = ("order", "checkout", "channel", "transaction", "store")
_PLACEHOLDER = re.compile(r"\{(\w+)\}")


@dataclass(frozen=True, slots=True)
class Terms:
    """What is settled about a payment before it is known how the shopper pays.

    ``said`` are the members that every creation has in common (gateway interface, 1a and 1b).
    """

    account: MerchantAccount
    flow: Flow
    data: StorefrontData
    return_url: str | None
    language: str
    order_number: str | None
    said: Mapping[str, Any]

    def request(self, model: type[RequestT], **more: Any) -> RequestT:
        """Return the whole request: what is in common, and what this way of paying adds. Raises RefusalError."""
        try:
            request = model(**self.said, **more)
        except InvalidRequestError as exc:
            words = f"The gateway does not take this: {exc.message}."
            raise RefusalError(RefusalCode.INVALID_DATA, words, storefront_path(exc.field)) from exc
        try:
            request.check_sector(Sector(self.account.sector))
        except InvalidRequestError as exc:
            raise _missing(exc.field) from exc
        return request


@dataclass(frozen=True, slots=True)
class HostedPlan:
    """A hosted payment, ready to be recorded and then asked for."""

    terms: Terms
    request: HostedPayment


def check_account(account: MerchantAccount | None, channel: str, currency: str) -> MerchantAccount:
    """Return the account that takes a channel's money in that currency. Raises RefusalError."""
    if account is None:
        raise RefusalError(
            RefusalCode.CHANNEL_NOT_MAPPED,
            f"Payments are not set up for the sales channel {channel!r}: map it to a merchant account.",
        )
    if not account.enabled:
        raise RefusalError(
            RefusalCode.ACCOUNT_DISABLED, f"The merchant account of the sales channel {channel!r} is switched off."
        )
    if currency not in account.currencies:
        raise RefusalError(
            RefusalCode.CURRENCY_NOT_SUPPORTED,
            f"The merchant account takes {', '.join(account.currencies)}, not {currency}.",
        )
    return account


def plan_hosted(
    event: TransactionInitializeSession | TransactionProcessSession,
    account: MerchantAccount | None,
    addresses: Addresses,
    saleor_api_url: str,
) -> HostedPlan:
    """Return the hosted payment that answers ``event`` (gateway interface, 1b). Raises RefusalError."""
    terms = terms_of(event, account, addresses, saleor_api_url)
    request = terms.request(
        HostedPayment, customer_lang=page_language(terms.language), order_timeout=terms.account.order_timeout
    )
    return HostedPlan(terms, request)


def terms_of(
    event: TransactionInitializeSession | TransactionProcessSession,
    account: MerchantAccount | None,
    addresses: Addresses,
    saleor_api_url: str,
) -> Terms:
    """Return what is the same of every payment, however the shopper pays. Raises RefusalError."""
    check_amount(event.action.amount)
    source = event.source
    account = check_account(account, source.channel.slug, event.action.currency)
    data = read_data(event.data)
    return_url = allowed_return_url(data.return_url, account.storefront_origins)
    customer = data.customer
    first_name = customer.first_name or source.first_name
    last_name = customer.last_name or source.last_name
    if account.names_required:
        require(first_name, RefusalCode.MISSING_NAME, "first name", "data.customer.firstName")
        require(last_name, RefusalCode.MISSING_NAME, "last name", "data.customer.lastName")
    language = base_language(data.language, source.language_code)
    email, phone = customer.email or source.email, customer.phone or source.phone
    typed = {
        "data.customer.firstName": first_name,
        "data.customer.lastName": last_name,
        "data.customer.patronymic": customer.patronymic,
        "data.customer.email": email,
        "data.customer.phone": phone,
        "data.customer.taxId": customer.tax_id,
    }
    check_typed(typed, language)
    products = products_of(account, source, event.action.amount, event.action.currency, language)
    flow = Flow(event.action.action_type.value)
    order_id = order_id_of(event.transaction.id, saleor_api_url)
    order_number = source.number if isinstance(source, Order) else None
    billing = source.billing_address
    split = split_of_payment(event, account, products)
    said = {
        "method": _METHODS[flow],
        "amount": event.action.amount.quantize(CENT),
        "currency": event.action.currency,
        "order_id": order_id,
        "description": description_of(event, account.description_template, order_id, account.name),
        "order_3ds_bypass": account.order_3ds_bypass,
        "customer_id": source.user_id,
        "customer_fname": first_name or None,
        "customer_lname": last_name or None,
        "customer_patronym": customer.patronymic,
        "customer_email": require(email, RefusalCode.MISSING_EMAIL, "e-mail address", "data.customer.email"),
        "customer_phone": require(phone, RefusalCode.MISSING_PHONE, "phone number", "data.customer.phone"),
        "customer_country": customer.country or (billing.country.code if billing and billing.country else None),
        "customer_birthday": customer.birthday,
        "customer_tax_id": customer.tax_id,
        "server_url": addresses.notifications(account.id),
        "result_url": addresses.return_page(order_id),
        "merchant_mcc": account.merchant_mcc,
        "f_receipt_delivery": account.receipt_delivery,
        "products": products,
        "attributes": attributes_of(event),
        "payload": payload_of(event),
        "split": split,
        "init_recurring": recurring_plan(account, data.subscription, flow, is_split=split is not None),
    }
    return Terms(
        account=account,
        flow=flow,
        data=data,
        return_url=return_url,
        language=language,
        order_number=order_number,
        said=said,
    )


def keeper_of(terms: Terms, event: SessionEvent) -> str | None:
    """Return Saleor's id of the customer who agreed that the card is kept; None: it is not kept.

    A guest has nobody for whom it could be kept, and pays all the same; so does whoever is not the customer, or has not
    signed in: a card of theirs would else stand among the customer's.
    """
    agreed = terms.data.save_card and terms.account.saved_cards and terms.data.saved_card_id is None
    return event.customer_id if agreed else None


# What the gateway may miss of a shopper: our code for it, and what it is called.
_MISSING = {
    "customer_fname": (RefusalCode.MISSING_NAME, "first name"),
    "customer_lname": (RefusalCode.MISSING_NAME, "last name"),
    "customer_birthday": (RefusalCode.MISSING_BIRTHDAY, "date of birth or tax id"),
    "customer_tax_id": (RefusalCode.MISSING_TAX_ID, "tax id"),
}


def _missing(field: str) -> RefusalError:
    """Return the refusal of a payment that lacks what the merchant's sector asks for (gateway interface, 1a and 1b)."""
    code, what = _MISSING[field]
    path = storefront_path(field)
    passed = f"`{path}`" if field != "customer_birthday" else f"`{path}` or `{storefront_path('customer_tax_id')}`"
    words = f"The shopper's {what} is missing, which this merchant must give: the storefront can pass {passed}."
    return RefusalError(code, words, path)


def require(value: str, code: RefusalCode, what: str, field: str) -> str:
    """Return ``value``; where the storefront must pass ``what``, because there is none, refuse. Raises RefusalError."""
    if not value:
        raise RefusalError(
            code, f"The shopper's {what} is missing: the checkout has none; the storefront can pass `{field}`.", field
        )
    return value


def description_of(event: SessionEvent, template: str | None, order_id: str, store: str) -> str:
    """Return what the payment is called. ``store`` is what ``{store}`` stands for, ``order_id`` the gateway's."""
    number = event.source.number
    values = {
        "order": number or order_id,
        "checkout": "" if isinstance(event.source, Order) else event.source.id,
        "channel": event.source.channel.slug,
        "transaction": event.transaction.id,
        "store": store,
    }
    return describe(template, values, f"Order {number}" if number else f"Payment {order_id}")


def attributes_of(event: SessionEvent) -> list[Attribute]:
    """Return what staff can search for (gateway interface, Payment attributes)."""
    return [Attribute.fitting(f"saleor_{name}", value) for name, value in _references(event).items()]


def payload_of(event: SessionEvent) -> str:
    """Return our references as compact JSON, at most 4000 characters (gateway interface, Limits)."""
    told = {name: value[:_LONGEST_REFERENCE] for name, value in _references(event).items()}
    app = {"app": event.recipient.identifier[:_LONGEST_REFERENCE]} if event.recipient.identifier else {}
    return json.dumps(told | app, ensure_ascii=False, separators=(",", ":"))


def _references(event: SessionEvent) -> dict[str, str]:
    """Return Saleor's names of what is paid, those that there are."""
    source = event.source
    paid = {"order": source.number, "order_id": source.id} if isinstance(source, Order) else {"checkout": source.id}
    named = {"transaction": event.transaction.id, **paid, "channel": source.channel.slug}
    return {name: value for name, value in named.items() if value}


class TemplateError(ValueError):
    """A template that does not say what its author meant; the message says what is wrong."""


def check_template(template: str) -> None:
    """Raise TemplateError for anything that would not turn out as written."""
    if not template.strip() or not template.isprintable():
        raise TemplateError("a description is printable text in one line")
    if len(template) > LONGEST_TEMPLATE:
        raise TemplateError(f"a description has at most {LONGEST_TEMPLATE} characters, this has {len(template)}")
    known = ", ".join(f"{{{name}}}" for name in PLACEHOLDERS)
    for name in _PLACEHOLDER.findall(template):
        if name not in PLACEHOLDERS:
            raise TemplateError(f"there is no {{{name}}}; there are {known}")
    if re.search(r"[{}]", _PLACEHOLDER.sub("", template)):
        raise TemplateError(f"braces stand around placeholders only; there are {known}")


def describe(template: str | None, values: Mapping[str, str], default: str) -> str:
    """Return the description, at most 2048 characters; ``default`` when there is no template or nothing comes of it.

    ``values`` are those of ``PLACEHOLDERS``; one without a value is left out. Never fails: somebody is paying.
    """
    told = _PLACEHOLDER.sub(lambda found: values.get(found[1], ""), template or "")
    return " ".join(told.split())[:LONGEST_DESCRIPTION] or default[:LONGEST_DESCRIPTION]
