"""What storefronts pass in ``data``: read strictly, card data refused, addresses only of known storefronts. Pure."""

import json
import re
from collections.abc import Iterator
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from app.rules.origins import origin_of
from app.rules.refusal import RefusalCode, RefusalError
from app.rules.requests.languages import base_language, read_page_language
from app.rules.requests.storefront import (
    StorefrontData,
    allowed_return_url,
    is_direct_payment,
    parse_data,
    parse_ip,
    stated_return_url,
    storefront_path,
)
from tests.payments.requests.test_payment import planned
from tests.payments.shop import source_object

PAN = "4242424242424242"
anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=12), inner, max_size=3),
    max_leaves=8,
)


def read_or_refusal(data: Any) -> StorefrontData | RefusalError:
    try:
        return parse_data(data)
    except RefusalError as refusal:
        return refusal


def test_nothing_is_required() -> None:
    assert parse_data(None) == parse_data({}) == StorefrontData()
    assert parse_data({"customer": None, "language": None, "returnUrl": None}) == StorefrontData()


@pytest.mark.threat("tampered-amount")
def test_what_is_known_is_read_and_the_rest_ignored() -> None:
    data = parse_data(
        {
            "returnUrl": "https://shop.example.com/back",
            "language": "uk-UA",
            "qr": True,
            "theme": "dark",
            "customer": {"firstName": " Тарас ", "birthday": "1814-03-09", "taxId": "1234567890", "country": "UA"},
        }
    )
    assert (data.language, data.qr, data.customer.first_name) == ("uk-UA", True, "Тарас")
    assert data.customer.birthday is not None
    assert data.customer.birthday.isoformat() == "1814-03-09"


@pytest.mark.threat("hostile-text")
@given(data=anything)
def test_whatever_a_storefront_sends_is_read_or_refused_in_words(data: Any) -> None:
    read = read_or_refusal(data)
    if isinstance(read, RefusalError):
        assert read.code in {RefusalCode.INVALID_DATA, RefusalCode.CARD_DATA_REFUSED}
        assert read.field is not None
        assert read.field.startswith("data")
        assert str(read) == read.message


def nested(depth: int, inmost: Any) -> Any:
    """Return an object in an object, and so on: Python reads deeper ones than it calls functions."""
    for _ in range(depth):
        inmost = {"theme": [inmost]}
    return inmost


@pytest.mark.threat("hostile-text")
@pytest.mark.parametrize("place", ["theme", "customer", "ip", "browserFingerprint", "subscription", "returnUrl"])
def test_data_that_is_nested_deeply_is_read_or_refused_in_words(place: str) -> None:
    deep = nested(20_000, 1)
    read = read_or_refusal({"customer": {"ip": deep}} if place == "ip" else {place: deep})
    ignored = {"theme", "customer", "ip", "browserFingerprint"}
    assert isinstance(read, StorefrontData if place in ignored else RefusalError)


def test_card_data_is_refused_however_deep_it_is() -> None:
    with pytest.raises(RefusalError) as refused:
        parse_data(nested(2000, {"cardNumber": "4"}))
    assert refused.value.code is RefusalCode.CARD_DATA_REFUSED
    assert (refused.value.field or "").startswith("data.theme[0].theme[0]")
    assert (refused.value.field or "").endswith(".cardNumber")


@pytest.mark.parametrize(
    ("data", "field"),
    [
        ("text", "data"),
        (["text"], "data"),
        ({"customer": "Taras"}, "data.customer"),
        ({"returnUrl": "https://shop.example.com/" + "x" * 2000}, "data.returnUrl"),
        ({"saveCard": "perhaps"}, "data.saveCard"),
        ({"subscription": {"every": 1}}, "data.subscription.interval"),
        ({"savedCardId": "1", "browserFingerprint": {}, "saveCard": "perhaps"}, "data.saveCard"),
    ],
)
def test_what_has_the_wrong_shape_is_named(data: Any, field: str) -> None:
    with pytest.raises(RefusalError) as refused:
        parse_data(data)
    assert (refused.value.code, refused.value.field) == (RefusalCode.INVALID_DATA, field)


# Fields with a fallback: Saleor's value, the gateway's choice, or none at all.
FALLS_BACK = st.sampled_from(
    [("language",), ("qr",), ("browserFingerprint",)]
    + [("customer", name) for name in ("firstName", "lastName", "patronymic", "birthday", "taxId", "country", "ip")]
    + [("customer", "referrer")]
)


@given(path=FALLS_BACK, value=anything)
def test_a_field_with_a_fallback_refuses_no_payment(path: tuple[str, ...], value: Any) -> None:
    try:
        request = planned(data={path[0]: {path[1]: value} if path[1:] else value}).request
    except RefusalError as refusal:
        assert refusal.code is RefusalCode.CARD_DATA_REFUSED  # noqa: PT017 - what has a fallback and is no card is not
        return
    assert request.customer_fname
    assert request.customer_email == "taras@example.com"


def every_path(model: type[BaseModel], *above: str) -> Iterator[tuple[str, ...]]:
    """Yield the path of each field of the model and of those inside it, by the storefront's names."""
    for name, field in model.model_fields.items():
        path = (*above, field.alias or name)
        yield path
        inner = [kind for kind in (field.annotation, *get_args(field.annotation)) if isinstance(kind, type)]
        for part in inner:
            if issubclass(part, BaseModel):
                yield from every_path(part, *path)


PATHS = [path for path in every_path(StorefrontData) if path[0] not in {"browserFingerprint", "subscription"}]


@pytest.mark.parametrize("blank", [None, "", " ", "\t\n", "\u200b", "\ufeff "], ids=repr)
@pytest.mark.parametrize("path", [*PATHS, ("browserFingerprint",), ("subscription",)], ids=".".join)
def test_blank_is_absent(path: tuple[str, ...], blank: str | None) -> None:
    assert ("customer", "phone") in PATHS
    data = {path[0]: {path[1]: blank} if path[1:] else blank}
    assert parse_data(data) == StorefrontData()
    assert not is_direct_payment(data)


@pytest.mark.parametrize("unseen", ["\x1b", "\x7f\u200b"], ids=repr)
@pytest.mark.parametrize("name", ["firstName", "lastName", "patronymic"])
def test_a_name_of_which_nothing_is_seen_is_none(name: str, unseen: str) -> None:
    assert parse_data({"customer": {name: unseen}}) == StorefrontData()


@pytest.mark.parametrize(
    "data",
    ["", " ", [], {"customer": []}, {"customer": {}}, {"subscription": []}, {"subscription": {}}, {"qr": []}],
    ids=repr,
)
def test_an_object_without_members_is_absent(data: Any) -> None:
    """PHP writes an empty object as an empty list."""
    assert parse_data(data) == StorefrontData()


@pytest.mark.parametrize(
    ("tag", "language"),
    [
        ("es-419", "es"),
        ("zh-Hans-CN", "zh"),
        ("sr-Latn-RS", "sr"),
        ("ca-ES-valencia", "ca"),
        ("de-CH-1996", "de"),
        ("uk_UA.UTF-8", "uk"),
        ("uk-UA,uk;q=0.9,en;q=0.8", "uk"),
        (" PT_BR", "pt"),
        ("fil", "fil"),
        ("C", "pl"),
        ("C.UTF-8", "pl"),
        ("*", "pl"),
        ("Ukrainian, please", "pl"),
        ("x-klingon", "pl"),
        ("", "pl"),
        (None, "pl"),
    ],
)
def test_the_language_of_a_browser_or_system_is_read_and_of_others_saleors_is_taken(
    tag: str | None, language: str
) -> None:
    assert base_language(tag, "PL") == language


@pytest.mark.parametrize(
    ("tag", "language"),
    [
        ("nb-NO", "no"),  # as browsers and Saleor call Norwegian
        ("NN", "no"),
        ("NO", "no"),
        ("iw-IL", "he"),  # as Android did
        ("UA", "uk"),  # the country
        ("ua-UA", "uk"),
        ("cz", "cs"),
        ("gb", "en"),
        ("us", "en"),
        ("ukr", "uk"),  # ISO 639-2
        ("ger", "de"),
        ("deu", "de"),
        ("sv-SE", "sv"),
        ("pl_PL", "pl"),
        ("xx", "xx"),
    ],
)
def test_language_by_another_of_its_codes_is_the_one_that_the_payment_page_knows(tag: str, language: str) -> None:
    assert base_language(tag) == language
    read = read_page_language(tag)
    assert read == (language if language != "xx" else None)


@pytest.mark.parametrize(
    "wrapped", ["\u202a{}\u202c", "\u200b{}", "{}\u200e", "\ufeff{}\u00a0", "{}\ufe0d", "\x00{}", "{}\u2060\n"]
)
def test_invisible_characters_around_what_a_shopper_pastes_are_dropped(wrapped: str) -> None:
    """Phones' address books put them around a number that is copied; the gateway would refuse it."""
    typed = {"email": "taras@example.com", "phone": "+380501234567", "taxId": "1234567890"}
    customer = parse_data({"customer": {name: wrapped.format(text) for name, text in typed.items()}}).customer
    assert (customer.email, customer.phone, customer.tax_id) == tuple(typed.values())


def test_spaces_of_a_phone_number_are_those_of_a_keyboard() -> None:
    assert parse_data({"customer": {"phone": "+380\u00a050\u2009123\u200b4567"}}).customer.phone == "+380 50 1234567"


@pytest.mark.parametrize("said", ["-", "немає", "n/a", ""])
def test_a_phone_number_without_a_digit_says_that_there_is_none(said: str) -> None:
    """Saleor's address may have one."""
    assert parse_data({"customer": {"phone": said}}).customer.phone is None


@pytest.mark.parametrize(
    "typed",
    [
        "＋３８０（５０）１２３－４５６７",
        "+٣٨٠(٥٠)١٢٣-٤٥٦٧",
        "+۳۸۰(۵۰)۱۲۳-۴۵۶۷",
        "+380(50)123\u20114567",
        "+३८०(५०)१२३–४५६७",
    ],
)
def test_a_phone_number_may_be_typed_on_any_keyboard(typed: str) -> None:
    """Phones in Arabic, Persian, Hindi and Japanese have keys with their own digits and signs."""
    assert parse_data({"customer": {"phone": typed}}).customer.phone == "+380(50)123-4567"


@pytest.mark.parametrize("typed", ["ａ@ｂ．com", "a＠b.com", "a@b。com", "a@b｡com", "ａ＠ｂ．ｃｏｍ"])
def test_an_email_address_may_be_typed_in_wide_letters(typed: str) -> None:
    """Japanese keyboards write them until they are switched, and the gateway would refuse or never reach them."""
    assert parse_data({"customer": {"email": typed}}).customer.email == "a@b.com"


@pytest.mark.parametrize(
    "typed",
    [" a@b.com\t", "a@b.com,", "a@b.com ;", "a@b.com.", "<a@b.com>,", "Mailto:a@b.com", "ａ＠ｂ．com，", "a@b.com、"],
)
def test_what_stands_around_an_email_address_is_none_of_it(typed: str) -> None:
    """It is pasted with the address, or slips in: the gateway would refuse it, or send the receipt to nobody."""
    assert parse_data({"customer": {"email": typed}}).customer.email == "a@b.com"
    planned_email = planned(sourceObject=source_object(email=typed)).request.customer_email
    assert planned_email == "a@b.com"


@pytest.mark.parametrize("typed", ["ґанна@пошта.укр", "ﬁ@b.com", "o´neil@b.com", "a²@b.com"])
def test_letters_of_an_email_address_that_are_not_wide_stay_as_they_are(typed: str) -> None:
    assert parse_data({"customer": {"email": typed}}).customer.email == typed


@given(tags=st.lists(st.none() | st.text(max_size=12), max_size=3))
def test_every_payment_has_a_language_of_two_or_three_letters(tags: list[str | None]) -> None:
    assert re.fullmatch("[a-z]{2,3}", base_language(*tags))


@pytest.mark.parametrize(
    ("country", "code"),
    [
        ("UA", "UA"),
        (" ua ", "UA"),
        ({"code": "UA", "country": "Ukraine"}, "UA"),
        ("Ukraine", None),
        ("UKR", None),
        ("EU", None),  # a country to Saleor
        ("XK", None),
        ("ZZ", None),
        ("QQ", None),
        ({"name": "UA"}, None),
        (5, None),
    ],
)
def test_a_country_is_read_as_servers_write_it(country: Any, code: str | None) -> None:
    assert parse_data({"customer": {"country": country}}).customer.country == code


@pytest.mark.parametrize(
    ("written", "ip"),
    [
        ("203.0.113.7", "203.0.113.7"),
        (" 203.0.113.7:52344", "203.0.113.7"),
        ("203.0.113.7, 10.0.0.1", "203.0.113.7"),
        ("2001:DB8::1", "2001:db8::1"),
        ("[2001:db8::1]:443", "2001:db8::1"),
        ("fe80::1%eth0", "fe80::1"),
        ("::ffff:203.0.113.7", "203.0.113.7"),
        ("[::ffff:203.0.113.7]:52344", "203.0.113.7"),
        ("unknown", None),
        ("", None),
        (None, None),
    ],
)
def test_an_ip_address_is_read_as_servers_write_it(written: str | None, ip: str | None) -> None:
    assert parse_ip(written) == ip


def test_numbers_are_taken_where_people_have_numbers() -> None:
    customer = parse_data({"customer": {"phone": 380501234567, "taxId": 3123456789}}).customer
    assert (customer.phone, customer.tax_id) == ("380501234567", "3123456789")


@pytest.mark.threat("card-numbers")
@pytest.mark.parametrize(
    "name",
    [
        "card", "cardNumber", "card_number", "CARD-NUMBER", "cc_number", "ccNumber", "pan", "creditCard",
        "credit_card_number", "cvv", "CVC2", "card_cvv", "securityCode", "cvvCode", "expMonth", "exp_year",
        "expiryDate", "card_exp_month", "expirationDate",
    ],
)  # fmt: skip
def test_card_data_is_refused_by_the_name_of_its_field_wherever_it_is(name: str) -> None:
    for data, path in (
        ({name: PAN}, f"data.{name}"),
        ({"payment": {name: PAN}}, f"data.payment.{name}"),
        ({"methods": [{"x": 1}, {name: None}]}, f"data.methods[1].{name}"),
    ):
        with pytest.raises(RefusalError) as refused:
            parse_data(data)
        assert (refused.value.code, refused.value.field) == (RefusalCode.CARD_DATA_REFUSED, path)
        assert PAN not in refused.value.message


@pytest.mark.parametrize("name", ["cardholder", "discard", "panel", "company", "expires", "cardboard", "postcard"])
def test_other_words_are_not_taken_for_card_data(name: str) -> None:
    assert parse_data({name: "x"}) == StorefrontData()


ALLOWED = ["https://shop.example.com", "http://localhost:3000", "https://strasse.example"]
KRAMNYTSIA = "https://xn--80aqejfp0c4d.xn--j1amh"  # as browsers write https://крамниця.укр


@pytest.mark.threat("open-redirect")
@pytest.mark.parametrize(
    "url",
    [
        "https://shop.example.com",
        "https://shop.example.com/checkout/back?order=1#done",
        "https://SHOP.example.com/",
        "https://shop.example.com:443/",
        "http://localhost:3000/back",
    ],
)
def test_the_shopper_goes_back_to_a_storefront_of_the_account(url: str) -> None:
    assert allowed_return_url(url, ALLOWED) == url


@pytest.mark.threat("open-redirect")
@pytest.mark.parametrize(
    "url",
    [
        "",
        "back",
        "//shop.example.com/",
        "http://shop.example.com/",
        "https://shop.example.com.evil.example/",
        "https://evil.example/https://shop.example.com",
        "https://shop.example.com@evil.example/",
        "https://user:secret@shop.example.com/",
        "https://:secret@shop.example.com/",
        "https://shop.example.com\\@evil.example/",
        "https://shop.example.com\t.evil.example/",
        "https://shop.example.com:8443/",
        "https://shop.example.com:port/",
        " https://shop.example.com/",
        "https://shop.example.com/\nhttps://evil.example",
        "\x00https://shop.example.com/",
        "https://shop.example.com/\u200b",
        "https://stra\u00dfe.example/",  # browsers do not go to strasse.example
        "https://shop\u3002example\u3002com/",
        "https://\uff53hop.example.com/",
        "javascript:alert(1)",
        "data:text/html,hello",
        "https://[::1",
    ],
)
def test_nowhere_else(url: str) -> None:
    """A page that forwards to any address given is a gift to phishers."""
    with pytest.raises(RefusalError) as refused:
        allowed_return_url(url, ALLOWED)
    assert (refused.value.code, refused.value.field) == (RefusalCode.INVALID_RETURN_URL, "data.returnUrl")


@pytest.mark.parametrize(
    "url", ["https://shop.example.com/thank you", "https://shop.example.com/?by=\\me", "/back", "shop.example.com/back"]
)
def test_an_address_that_cannot_be_used_is_not_taken_for_one_elsewhere(url: str) -> None:
    """The developer would look for the fault in the merchant account, whose storefronts are right."""
    with pytest.raises(RefusalError) as refused:
        allowed_return_url(url, ALLOWED)
    assert refused.value.code is RefusalCode.INVALID_RETURN_URL
    assert "complete http(s) address" in refused.value.message
    with pytest.raises(RefusalError, match="not at one of the storefronts"):
        allowed_return_url("https://elsewhere.example/back", ALLOWED)


@pytest.mark.parametrize("more", [{}, {"saveCard": "perhaps"}], ids=["readable", "not readable"])
def test_white_space_around_an_address_is_no_part_of_it(more: dict[str, Any]) -> None:
    """A storefront's setting often ends in a line feed."""
    url = "https://shop.example.com/back"
    data = {"returnUrl": f" {url}\n"} | more
    assert stated_return_url(data) == url
    if not more:
        assert parse_data(data).return_url == url


def test_without_an_address_there_is_nothing_to_refuse() -> None:
    assert allowed_return_url(None, []) is None


@pytest.mark.parametrize("allowed", [KRAMNYTSIA, "https://крамниця.укр"])
@pytest.mark.parametrize("origin", [KRAMNYTSIA, "https://крамниця.укр", "https://КРАМНИЦЯ.УКР:443"])
def test_a_host_with_letters_of_another_alphabet_is_the_same_in_either_form(origin: str, allowed: str) -> None:
    """The store's owner types the address, a server's storefront has it in its settings, a browser writes ASCII."""
    assert allowed_return_url(f"{origin}/back", [allowed]) == f"{origin}/back"


@given(st.text(max_size=60))
def test_any_text_has_an_origin_or_none(text: str) -> None:
    origin = origin_of(text)
    assert origin is None or origin_of(origin) == origin


@pytest.mark.parametrize(
    ("url", "origin"),
    [
        ("HTTPS://Shop.Example.com/x", "https://shop.example.com"),
        ("http://shop.example.com:80", "http://shop.example.com"),
        ("http://shop.example.com:8080/", "http://shop.example.com:8080"),
        ("https://[2001:db8::1]:444/x", "https://[2001:db8::1]:444"),
        ("https://крамниця.укр/x", KRAMNYTSIA),
        ("https://моя-крамниця.укр/x", "https://xn----8sbygidhdu8dxei.xn--j1amh"),
        ("https://моя_крамниця.укр/x", None),
        ("https://shop.example.com./x", "https://shop.example.com"),
        ("https://shop.example.com.:444/x", "https://shop.example.com:444"),
        ("https://shop.example.com../x", None),
        ("https://shop..example.com/x", None),
        ("https://https://shop.example.com/x", None),  # what was pasted behind a scheme
        ("https://\u0439.укр/", "https://xn--i1a.xn--j1amh"),
        ("https://\u0438\u0306.укр/", "https://xn--i1a.xn--j1amh"),  # the same letter in two characters
    ],
)
def test_an_origin_is_scheme_host_and_port(url: str, origin: str | None) -> None:
    assert origin_of(url) == origin


def test_what_the_gateway_refuses_is_named_as_the_storefront_knows_it() -> None:
    assert storefront_path("customer_fname") == "data.customer.firstName"
    assert storefront_path("server_url") is None
    assert json.dumps(storefront_path("amount")) == '"amount"'
