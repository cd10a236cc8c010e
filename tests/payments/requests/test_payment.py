"""From Saleor's question to the gateway's request (gateway interface, 1b). Pure; refusals are in test_initialize."""

from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.rules.addresses import Addresses
from app.rules.balance import check_amount
from app.rules.references import order_id_of
from app.rules.refusal import RefusalCode, RefusalError
from app.rules.requests.payment import HostedPlan, card_owner_of, plan_hosted, terms_of
from app.store.tables import MerchantAccount
from saleor_app_sdk.events import TransactionInitializeSession
from tests.payments.aggregates import NOON
from tests.payments.shop import CUSTOMER, SALEOR, session_event, source_object

TRANSACTION = "VHJhbnNhY3Rpb25JdGVtOjAzNjRhYTlhLTMxZWItNDRmYi1hZWZmLTRkNzEyZTc3ZTU0OQ=="


def an_account(**changed: Any) -> MerchantAccount:
    members: dict[str, Any] = {
        "id": "account",
        "installation_id": 1,
        "name": "Main",
        "pos_id": "b28c8a4e-7c6f-4f6f-9c2c-1f6f0f1d3a11",
        "base_url": "https://gateway.example",
        "scheme_word": "CPAY",
        "api_key_sealed": "",
        "api_secret_sealed": "",
        "endpoints_key_sealed": "",
        "currencies": ["UAH"],
        "storefront_origins": ["https://shop.example.com"],
        "created_at": NOON,
        "updated_at": NOON,
    }
    return MerchantAccount(**(members | changed))


def planned(account: MerchantAccount | None = None, **said: Any) -> HostedPlan:
    event = TransactionInitializeSession.model_validate(session_event(TRANSACTION, **said))
    return plan_hosted(event, account or an_account(), Addresses("https://pay.example.com"), SALEOR)


@pytest.mark.law(14)
@given(amount=st.decimals(min_value="-10", max_value="100000", places=3))
def test_exactly_the_amounts_of_money_are_taken(amount: Decimal) -> None:
    good = amount > 0 and amount * 100 % 1 == 0
    if good:
        check_amount(amount)
        assert planned(amount=amount).request.amount == amount
        return
    with pytest.raises(RefusalError) as refused:
        check_amount(amount)
    assert refused.value.code is (RefusalCode.AMOUNT_NOT_ACCEPTED if amount > 0 else RefusalCode.INVALID_AMOUNT)


@pytest.mark.threat("tampered-amount")
@pytest.mark.parametrize("amount", ["1e27", "123456789012345678901234567890", "10000000000000.00", "1e400"])
def test_a_huge_amount_is_refused_in_words(amount: str) -> None:
    with pytest.raises(RefusalError) as refused:
        check_amount(Decimal(amount))
    assert refused.value.code is RefusalCode.AMOUNT_NOT_ACCEPTED


@pytest.mark.law(14)
@pytest.mark.parametrize(("amount", "currency"), [("100.50", "JPY"), ("0.01", "KRW"), ("99.99", "RSD")])
def test_an_amount_finer_than_saleor_counts_in_its_currency_is_refused(amount: str, currency: str) -> None:
    """Saleor rounds reports to the unit of the currency: what is paid would not be what is booked."""
    with pytest.raises(RefusalError) as refused:
        planned(an_account(currencies=[currency]), amount=amount, currency=currency)
    assert refused.value.code is RefusalCode.AMOUNT_NOT_ACCEPTED
    assert currency in refused.value.message
    assert planned(an_account(currencies=[currency]), amount="100.00", currency=currency).request.amount == 100


@pytest.mark.threat("tampered-amount")
def test_the_gateway_is_asked_for_what_saleor_asked_for() -> None:
    plan = planned(data={"returnUrl": "https://shop.example.com/back", "qr": True})
    request = plan.request
    assert (request.method, request.mode) == ("purchase", "hosted")
    assert (request.amount, request.currency) == (Decimal("569.50"), "UAH")
    assert request.order_id == order_id_of(TRANSACTION, SALEOR) == "0364aa9a31eb2c78f45fb8abe26e8833"
    assert request.order_timeout == 3600
    assert request.customer_lang == "UK"
    terms = plan.terms
    assert (terms.return_url, terms.language, terms.data.qr) == ("https://shop.example.com/back", "uk", True)
    attributes = {attribute.key: attribute.value for attribute in request.attributes or []}
    assert attributes == {
        "saleor_transaction": TRANSACTION,
        "saleor_checkout": "Q2hlY2tvdXQ6MQ==",
        "saleor_channel": "uah",
    }


def test_the_accounts_own_ways_are_kept() -> None:
    request = planned(an_account(order_timeout=600, order_3ds_bypass="always")).request
    assert (request.order_timeout, request.order_3ds_bypass) == (600, "always")


def test_search_words_are_made_to_fit_what_the_merchant_portal_takes() -> None:
    """No payment fails over a search word."""
    order = source_object(
        __typename="Order", number="№ 4242424242424242", channel={"slug": "ж" * 300, "currencyCode": "UAH"}
    )
    found = {attribute.key: attribute.value for attribute in planned(sourceObject=order).request.attributes or []}
    assert found["saleor_channel"] == "ж" * 250
    assert "4242424242424242" not in found["saleor_order"]


def test_a_payment_page_in_a_language_that_the_gateway_does_not_have() -> None:
    plan = planned(data={"language": "ka"})
    assert (plan.terms.language, plan.request.customer_lang) == ("ka", None)


def test_names_from_the_shipping_address_when_the_billing_address_has_none() -> None:
    request = planned(
        sourceObject=source_object(
            billingAddress=None, shippingAddress={"firstName": "Леся", "lastName": "Українка", "phone": "+380671234567"}
        )
    ).request
    assert (request.customer_fname, request.customer_lname) == ("Леся", "Українка")
    assert request.customer_phone == "+380671234567"


@pytest.mark.parametrize(
    ("billing", "shipping", "names"),
    [
        (("Taras", ""), ("Lesia", "Ukrainka"), ("Lesia", "Ukrainka")),
        (("", "Shevchenko"), ("Lesia", "Ukrainka"), ("Lesia", "Ukrainka")),
        (("Taras", "Shevchenko"), ("Lesia", "Ukrainka"), ("Taras", "Shevchenko")),
        (("Sukarno", ""), ("Lesia", ""), ("Sukarno", None)),
        (("Sukarno", ""), ("", "Ukrainka"), ("Sukarno", None)),
        (("", ""), ("", "Ukrainka"), (None, "Ukrainka")),
    ],
)
def test_names_of_two_people_are_not_mixed(
    billing: tuple[str, str], shipping: tuple[str, str], names: tuple[str | None, str | None]
) -> None:
    first, second = (CUSTOMER | {"firstName": first, "lastName": last} for first, last in (billing, shipping))
    request = planned(sourceObject=source_object(billingAddress=first, shippingAddress=second)).request
    assert (request.customer_fname, request.customer_lname) == names


def test_names_are_in_one_line() -> None:
    """Address books paste names with the line feeds of a form."""
    billing = CUSTOMER | {"firstName": "Леся\tО.\n", "lastName": "Українка\x07"}
    request = planned(
        sourceObject=source_object(billingAddress=billing), data={"customer": {"patronymic": "Петрівна\r\nК."}}
    ).request
    names = (request.customer_fname, request.customer_lname, request.customer_patronym)
    assert names == ("Леся О.", "Українка", "Петрівна К.")


@pytest.mark.parametrize(
    "country", [{"code": "ukraine"}, {"code": "EU"}, {"code": ""}, {"code": None}, {}, None], ids=repr
)
def test_a_country_of_saleors_that_is_no_code_is_left_out(country: Any) -> None:
    request = planned(sourceObject=source_object(billingAddress=CUSTOMER | {"country": country})).request
    assert request.customer_country is None


@pytest.mark.parametrize("blank", [" ", "\u200b", "\x1b\ufeff"], ids=repr)
def test_a_blank_part_of_an_address_is_absent(blank: str) -> None:
    billing, shipping = CUSTOMER | {"firstName": blank, "phone": blank}, CUSTOMER | {"firstName": "Леся"}
    request = planned(sourceObject=source_object(billingAddress=billing, shippingAddress=shipping)).request
    assert (request.customer_fname, request.customer_phone) == ("Леся", CUSTOMER["phone"])
    with pytest.raises(RefusalError) as refused:
        planned(sourceObject=source_object(email=" "))
    assert refused.value.code is RefusalCode.MISSING_EMAIL


@pytest.mark.law(17)
@pytest.mark.parametrize(
    "customer",
    [{"email": "nobody"}, {"email": "a@b@c.com"}, {"email": ["a@b.com"]}, {"phone": "0" * 33}, {"phone": {}}],
)
def test_what_cannot_be_read_of_how_to_reach_the_shopper_is_taken_from_saleor(customer: dict[str, Any]) -> None:
    request = planned(data={"customer": customer}).request
    assert (request.customer_email, request.customer_phone) == ("taras@example.com", "+380501234567")


@pytest.mark.parametrize(
    ("customer", "code", "field"),
    [
        ({"email": "nobody"}, RefusalCode.MISSING_EMAIL, "data.customer.email"),
        ({"phone": "0" * 33}, RefusalCode.MISSING_PHONE, "data.customer.phone"),
    ],
)
def test_what_cannot_be_read_and_saleor_does_not_know_is_asked_for(
    customer: dict[str, Any], code: RefusalCode, field: str
) -> None:
    with pytest.raises(RefusalError) as refused:
        planned(sourceObject=source_object(email="", billingAddress={}), data={"customer": CUSTOMER | customer})
    assert (refused.value.code, refused.value.field) == (code, field)
    assert "is missing or cannot be read" in refused.value.message


def test_what_breaks_a_limit_of_the_gateway_is_refused_without_the_value() -> None:
    with pytest.raises(RefusalError) as refused:
        planned(an_account(merchant_mcc="groceries"))
    assert (refused.value.code, refused.value.field) == (RefusalCode.INVALID_DATA, None)
    assert "ukraine" not in refused.value.message


@pytest.mark.parametrize(
    ("offered", "agreed", "saved_card", "signed_in", "is_saved"),
    [
        (True, True, None, True, True),
        (True, False, None, True, False),
        (False, True, None, True, False),
        (True, True, "1", True, False),  # it is saved already
        (True, True, None, False, False),  # it would be listed among those of somebody else
    ],
)
def test_card_is_saved_for_a_customer_who_has_signed_in_and_agreed(
    offered: bool, agreed: bool, saved_card: str | None, signed_in: bool, is_saved: bool
) -> None:
    data = {"customer": CUSTOMER, "saveCard": agreed, "savedCardId": saved_card}
    said = session_event(TRANSACTION, sourceObject=source_object(user={"id": "VXNlcjox"}), data=data)
    if not signed_in:
        said["issuingPrincipal"] = None
    event = TransactionInitializeSession.model_validate(said)
    terms = terms_of(event, an_account(saved_cards=offered), Addresses("https://pay.example.com"), SALEOR)
    assert card_owner_of(terms, event) == ("VXNlcjox" if is_saved else None)


def test_subscription_that_the_gateway_would_not_take_is_refused() -> None:
    """A payment without it would be made, and the shopper was promised more than one."""
    monthly = {"interval": "month", "every": 1, "startsOn": "2027-01-02"}
    account = an_account(subscriptions=True)
    assert (
        planned(account, data={"subscription": monthly | {"endsOn": "2028-01-02"}}).request.init_recurring is not None
    )
    with pytest.raises(RefusalError, match="does not accept this subscription") as refused:
        planned(account, data={"subscription": monthly | {"endsOn": "2027-01-01"}})
    assert refused.value.field == "data.subscription"
