"""From Saleor's webhook to the request to the gateway, or the reason why none is sent. Pure.

Everything is checked before any row is written and before any call is made.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date
from decimal import Decimal
from typing import Any, TypeVar

from app.core.ids import OrderId
from app.core.vocabulary import Flow
from app.i18n.messages import LazyMessage
from app.rules.addresses import Addresses
from app.rules.balance import check_amount
from app.rules.references import order_id_of
from app.rules.refusal import RefusalCode, RefusalError, Refusals, shopper_message_of
from app.rules.requests.description import attributes_of, description_of, payload_of
from app.rules.requests.languages import base_language, page_language
from app.rules.requests.storefront import (
    Customer,
    Plan,
    StorefrontData,
    allowed_return_url,
    check_typed_fields,
    parse_country,
    parse_data,
    stated_return_url,
    storefront_path,
)
from app.rules.split.planning import Division, for_purchase
from app.store.tables import MerchantAccount
from gateway_client.errors import InvalidRequestError
from gateway_client.models import Attribute, Method, Sector
from gateway_client.models.details import RecurringPlan
from gateway_client.models.payments import HostedPayment, Payment
from integration_base.amounts import CENT
from integration_base.typed_text import one_line, typed_email
from saleor_app_sdk.events import SessionEvent, TransactionInitializeSession, TransactionProcessSession
from saleor_app_sdk.source import Order, Source

_FIRST_NAME = ("first name", "data.customer.firstName")
_LAST_NAME = ("last name", "data.customer.lastName")
_METHODS = {Flow.CHARGE: Method.PURCHASE, Flow.AUTHORIZATION: Method.AUTH}


RequestT = TypeVar("RequestT", bound=Payment)


@dataclass(frozen=True, slots=True)
class Shopper:
    """Who pays, as the gateway is told: from the storefront's data, else from Saleor's."""

    customer_id: str | None
    first_name: str
    last_name: str
    patronymic: str | None
    email: str
    phone: str
    country: str | None
    birthday: date | None
    tax_id: str | None


@dataclass(frozen=True, slots=True)
class Terms:
    """The terms of a payment, which do not depend on how the shopper pays (gateway interface, 1a and 1b)."""

    account: MerchantAccount
    flow: Flow
    amount: Decimal
    currency: str
    order_id: OrderId
    order_number: str | None
    description: str
    language: str
    shopper: Shopper
    data: StorefrontData
    return_url: str | None
    receipt_delivery: str | None
    division: Division
    subscription: RecurringPlan | None
    attributes: Sequence[Attribute]
    payload: str
    notification_url: str
    return_page: str

    def build_request(self, model: type[RequestT], **more: Any) -> RequestT:
        """Return the whole request: these terms, and ``more`` for this way of paying. Raises RefusalError."""
        account, shopper = self.account, self.shopper
        try:
            request = model(
                method=_METHODS[self.flow],
                amount=self.amount,
                currency=self.currency,
                order_id=self.order_id,
                description=self.description,
                order_3ds_bypass=account.order_3ds_bypass,
                customer_id=shopper.customer_id,
                customer_fname=shopper.first_name or None,
                customer_lname=shopper.last_name or None,
                customer_patronym=shopper.patronymic,
                customer_email=shopper.email,
                customer_phone=shopper.phone,
                customer_country=shopper.country,
                customer_birthday=shopper.birthday,
                customer_tax_id=shopper.tax_id,
                server_url=self.notification_url,
                result_url=self.return_page,
                merchant_mcc=account.merchant_mcc,
                validation_url=account.validation_url,
                f_receipt_delivery=self.receipt_delivery,
                products=self.division.products,
                attributes=self.attributes,
                payload=self.payload,
                split=self.division.split,
                init_recurring=self.subscription,
                **more,
            )
        except InvalidRequestError as exc:
            message = f"The gateway does not accept this: {exc.message}."
            raise RefusalError(RefusalCode.INVALID_DATA, message, storefront_path(exc.field)) from exc
        try:
            request.check_sector(Sector(account.sector))
        except InvalidRequestError as exc:
            raise _missing_field_refusal(exc.field) from exc
        return request


@dataclass(frozen=True, slots=True)
class HostedPlan:
    """A hosted payment, ready to be recorded and then requested."""

    terms: Terms
    request: HostedPayment


def no_account_refusal(channel: str) -> RefusalError:
    """Return the refusal of a payment in a channel that no merchant account takes money for."""
    message = f"Payments are not set up for the sales channel {channel!r}: map it to a merchant account."
    return RefusalError(RefusalCode.CHANNEL_NOT_MAPPED, message)


def check_account(account: MerchantAccount | None, channel: str, currency: str) -> MerchantAccount:
    """Return the account that takes a channel's money in that currency. Raises RefusalError."""
    if account is None:
        raise no_account_refusal(channel)
    if not account.enabled:
        raise RefusalError(
            RefusalCode.ACCOUNT_DISABLED, f"The merchant account of the sales channel {channel!r} is switched off."
        )
    if currency not in account.currencies:
        raise RefusalError(
            RefusalCode.CURRENCY_NOT_SUPPORTED,
            LazyMessage(
                "The merchant account accepts %(currencies)s, not %(currency)s.",
                currencies=", ".join(account.currencies),
                currency=currency,
            ),
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
    request = terms.build_request(
        HostedPayment, customer_lang=page_language(terms.language), order_timeout=terms.account.order_timeout
    )
    return HostedPlan(terms, request)


def _check_amount(event: TransactionInitializeSession | TransactionProcessSession) -> None:
    """Check the amount; the shopper reads why another way to pay is needed. Raises RefusalError."""
    try:
        check_amount(event.action.amount, event.action.currency)
    except RefusalError as refusal:
        if refusal.code is RefusalCode.AMOUNT_NOT_ACCEPTED:
            language = base_language(event.source.language_code)
            refusal.shopper_message = shopper_message_of(refusal.code, language)
        raise


def terms_of(
    event: TransactionInitializeSession | TransactionProcessSession,
    account: MerchantAccount | None,
    addresses: Addresses,
    saleor_api_url: str,
) -> Terms:
    """Return the terms of the payment, which do not depend on how the shopper pays. Raises RefusalError."""
    source = event.source
    account = check_account(account, source.channel.slug, event.action.currency)
    refusals = Refusals()
    refusals.collect(_check_amount, event)
    data = refusals.collect(parse_data, event.data)
    stated_url = stated_return_url(event.data) if data is None else data.return_url
    return_url = refusals.collect(allowed_return_url, stated_url, account.storefront_origins)
    if data is None:  # what may be missing of the shopper is not known either
        raise refusals.combined()
    language = base_language(data.language, source.language_code)
    shopper = _shopper_of(data.customer, source)
    _check_shopper(shopper, account, language, refusals)
    flow = Flow(event.action.action_type.value)
    order_id = order_id_of(event.transaction.id, saleor_api_url)
    receipt_delivery = data.receipt_delivery or account.receipt_delivery
    division = for_purchase(event, account, language, receipt_delivery)
    return Terms(
        account=account,
        flow=flow,
        amount=event.action.amount.quantize(CENT),
        currency=event.action.currency,
        order_id=order_id,
        order_number=source.number if isinstance(source, Order) else None,
        description=description_of(event, account.description_template, order_id, account.name),
        language=language,
        shopper=shopper,
        data=data,
        return_url=return_url,
        receipt_delivery=receipt_delivery,
        division=division,
        subscription=recurring_plan(account, data.subscription, flow, is_split=division.split is not None),
        attributes=attributes_of(event, account.attributes, order_id, account.name),
        payload=payload_of(event),
        notification_url=addresses.notifications(account.id),
        return_page=addresses.return_page(order_id),
    )


def _shopper_of(customer: Customer, source: Source) -> Shopper:
    return Shopper(
        customer_id=source.user_id,
        first_name=customer.first_name or one_line(source.first_name),
        last_name=customer.last_name or one_line(source.last_name),
        patronymic=customer.patronymic,
        email=customer.email or typed_email(source.email),
        phone=customer.phone or source.phone,
        country=customer.country or parse_country(source.country_code),
        birthday=customer.birthday,
        tax_id=customer.tax_id,
    )


def _check_shopper(shopper: Shopper, account: MerchantAccount, language: str, refusals: Refusals) -> None:
    """Raise RefusalError for what is missing of the shopper, with what was refused before, or for a card number."""
    if account.names_required:
        _require_names(shopper, refusals)
    refusals.collect(require, shopper.email, RefusalCode.MISSING_EMAIL, "e-mail address", "data.customer.email")
    refusals.collect(require, shopper.phone, RefusalCode.MISSING_PHONE, "phone number", "data.customer.phone")
    refusals.raise_if_any()
    typed_fields = {
        "data.customer.firstName": shopper.first_name,
        "data.customer.lastName": shopper.last_name,
        "data.customer.patronymic": shopper.patronymic,
        "data.customer.email": shopper.email,
        "data.customer.phone": shopper.phone,
        "data.customer.taxId": shopper.tax_id,
    }
    check_typed_fields(typed_fields, language)


_SUBSCRIPTION_FIELD = "data.subscription"
_NO_SUBSCRIPTIONS = "This store does not offer subscriptions."
_SUBSCRIPTION_RESERVED = "A subscription starts with a payment that is charged immediately, not with an authorization."
_SUBSCRIPTION_SPLIT = "A payment that is split between sub-merchants cannot start a subscription."


def recurring_plan(account: MerchantAccount, plan: Plan | None, flow: Flow, *, is_split: bool) -> RecurringPlan | None:
    """Return the subscription in the request to the gateway; None: the payment begins none. Raises RefusalError.

    Where the account offers none the payment is refused: the shopper has been promised more than one payment. Each
    later charge is of the payment's own amount: a storefront cannot set it, because anybody can impersonate one.

    Provisional: the interface names subscriptions, but not how they begin. The fields are those of the gateway facts,
    6.
    """
    if plan is None:
        return None
    for is_refused, message in (
        (not account.subscriptions, _NO_SUBSCRIPTIONS),
        (flow is not Flow.CHARGE, _SUBSCRIPTION_RESERVED),
        (is_split, _SUBSCRIPTION_SPLIT),
    ):
        if is_refused:
            raise RefusalError(RefusalCode.INVALID_DATA, message, _SUBSCRIPTION_FIELD)
    try:
        return RecurringPlan(
            interval_unit=plan.interval,
            interval_count=plan.every,
            start_date=plan.starts_on,
            expiry_date=plan.ends_on,
        )
    except InvalidRequestError as exc:
        message = f"The gateway does not accept this subscription: {exc.message}."
        raise RefusalError(RefusalCode.INVALID_DATA, message, _SUBSCRIPTION_FIELD) from exc


def card_owner_of(terms: Terms, event: SessionEvent) -> str | None:
    """Return Saleor's id of the customer who agreed that the card is saved; None: it is not saved.

    For a guest no card can be saved, but the payment is made. The same is true for a shopper who is not the customer,
    or has not signed in: otherwise their card would be listed among the customer's.
    """
    agreed = terms.data.save_card and terms.account.saved_cards and terms.data.saved_card_id is None
    return event.customer_id if agreed else None


# The shopper's fields that the gateway may require: our code for a missing one, and its name.
_MISSING = {
    "customer_fname": (RefusalCode.MISSING_NAME, "first name"),
    "customer_lname": (RefusalCode.MISSING_NAME, "last name"),
    "customer_birthday": (RefusalCode.MISSING_BIRTHDAY, "date of birth or tax id"),
    "customer_tax_id": (RefusalCode.MISSING_TAX_ID, "tax id"),
}


def _missing_field_refusal(field: str) -> RefusalError:
    """Return the refusal of a payment that lacks a field of the merchant's sector (gateway interface, 1a and 1b)."""
    code, what = _MISSING[field]
    path = storefront_path(field)
    paths = f"`{path}`" if field != "customer_birthday" else f"`{path}` or `{storefront_path('customer_tax_id')}`"
    message = (
        f"The shopper's {what} is missing or cannot be read, and this merchant must provide it: "
        f"the storefront can pass {paths}."
    )
    return RefusalError(code, message, path)


def with_both_names(terms: Terms) -> Terms:
    """Return the terms of a direct payment, which has a first and a last name (gateway interface, 1a).

    Who has a single name is called by it twice, unless the gateway requires both of the merchant's sector: that is
    about who the shopper is. Raises RefusalError.
    """
    shopper = terms.shopper
    only = shopper.first_name or shopper.last_name
    if Sector(terms.account.sector) is Sector.GENERAL:
        shopper = replace(shopper, first_name=shopper.first_name or only, last_name=shopper.last_name or only)
    refusals = Refusals()
    _require_names(shopper, refusals)
    refusals.raise_if_any()
    return replace(terms, shopper=shopper)


def _require_names(shopper: Shopper, refusals: Refusals) -> None:
    refusals.collect(require, shopper.first_name, RefusalCode.MISSING_NAME, *_FIRST_NAME)
    refusals.collect(require, shopper.last_name, RefusalCode.MISSING_NAME, *_LAST_NAME)


def require(value: str, code: RefusalCode, what: str, field: str) -> str:
    """Return ``value``. Raises RefusalError if it is empty, because then the storefront must pass ``what``."""
    if not value:
        raise RefusalError(
            code,
            f"The shopper's {what} is missing or cannot be read, and the checkout has none: "
            f"the storefront can pass `{field}`.",
            field,
        )
    return value
