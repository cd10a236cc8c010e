"""What the page says and where it leads, for every payment there may be."""

from decimal import Decimal

import pytest
from babel.numbers import parse_decimal
from hypothesis import given
from hypothesis import strategies as st

from app.i18n.translation import LANGUAGES, translation, translation_for
from app.web.shopper.page import POLLS, POLLS_BEFORE_PAY, SECONDS_BETWEEN_POLLS, Onward, return_page, web_address
from app.web.shopper.view import PaymentState, PaymentView
from tests.shopper.views import CHECKOUT, PAID, SHOP, payment, views

polls = st.integers(min_value=0, max_value=999)


@given(view=views, looked=polls)
def test_only_good_news_forward_to_the_shop(view: PaymentView, looked: int) -> None:
    onward = return_page(view, looked).onward
    if onward is not None and not onward.address.startswith("?"):
        assert view.state in {PaymentState.PAID, PaymentState.AUTHORISED}
        assert onward.address == view.return_url


@pytest.mark.threat("open-redirect")
@given(view=views, looked=polls)
def test_every_address_on_the_page_is_its_own_or_a_web_address_it_was_given(view: PaymentView, looked: int) -> None:
    page = return_page(view, looked)
    addresses = {link.address for link in page.links} | ({page.onward.address} if page.onward else set())
    for address in addresses:
        assert address.startswith("?") or address in {SHOP, CHECKOUT}


@given(view=views)
def test_a_page_looks_again_while_the_outcome_is_open_but_not_for_ever(view: PaymentView) -> None:
    looked = 0
    while (onward := return_page(view, looked).onward) and onward.address.startswith("?"):
        looked += 1
        assert onward == Onward(f"?n={looked}", SECONDS_BETWEEN_POLLS)
    assert looked == (POLLS if view.state.is_open else 0)
    assert POLLS * SECONDS_BETWEEN_POLLS == 30


@given(view=views, looked=polls | st.integers(min_value=0, max_value=POLLS))
def test_nobody_is_invited_to_pay_who_may_have_paid_already(view: PaymentView, looked: int) -> None:
    invited = CHECKOUT in {link.address for link in return_page(view, looked).links}
    may_pay = view.state is PaymentState.WAITING and looked >= POLLS_BEFORE_PAY
    assert invited == (may_pay and view.checkout_url is not None)


def test_a_failure_stays_on_the_screen_with_its_reason_and_a_way_back() -> None:
    page = return_page(payment(PaymentState.FAILED, message="Not enough money on the card. [3005]"), polls=0)

    assert page.onward is None
    assert page.says.text == "Not enough money on the card. [3005]"
    assert [link.address for link in page.links] == [SHOP]


def test_a_reason_is_shown_only_where_there_was_a_failure() -> None:
    assert return_page(payment(PaymentState.PAID, message="leftover"), polls=0).says.text != "leftover"


def test_without_an_address_of_the_shop_the_page_may_be_closed() -> None:
    page = return_page(payment(PaymentState.PAID, return_url=None), polls=0)

    assert (page.links, page.onward) == ((), None)
    assert page.note == "You can close this page."


def test_an_unknown_outcome_warns_against_paying_twice() -> None:
    assert "do not pay again" in return_page(payment(PaymentState.UNKNOWN), polls=0).says.text
    assert "do not pay again" in return_page(payment(PaymentState.UNKNOWN), polls=POLLS).says.text
    for looked in (0, POLLS):
        says = return_page(payment(PaymentState.UNKNOWN), polls=looked).says
        assert "не платіть удруге" in translation("uk").plain_text(says.text)


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_state_has_words_of_its_own(language: str) -> None:
    say = translation(language).plain_text
    sentences = [return_page(payment(state), polls=0).says for state in PaymentState]
    assert len({say(sentence.title) for sentence in sentences}) == len(PaymentState)
    assert all(say(sentence.title) and say(sentence.text) for sentence in sentences)


def test_no_two_languages_share_a_sentence() -> None:
    pages = [
        return_page(payment(state, checkout_url=CHECKOUT), looked) for state in PaymentState for looked in (0, POLLS)
    ]
    english = {page.says.text for page in pages} | {link.label for page in pages for link in page.links}
    assert {"Back to the shop", "Check again", "Go to the payment page"} <= english
    spoken = [{translation(language).plain_text(text) for text in english} for language in LANGUAGES]
    assert not set.intersection(*spoken)


@pytest.mark.parametrize(
    ("amount", "language", "written"),
    [
        ("1234567.8", "uk", "1\u00a0234\u00a0567,80\u00a0UAH"),
        ("1234567.8", "en", "1,234,567.80\u00a0UAH"),
        ("0.01", "uk", "0,01\u00a0UAH"),
        ("999", "en", "999.00\u00a0UAH"),
    ],
)
def test_amounts_are_written_as_the_language_writes_them(amount: str, language: str, written: str) -> None:
    page = return_page(payment(PaymentState.PAID, amount=Decimal(amount), language=language), polls=0)
    assert translation(language).html(page.details[0][2]) == written


@given(view=views)
def test_an_amount_reads_back_to_the_cent(view: PaymentView) -> None:
    written = translation(view.language).money(view.amount, view.currency).removesuffix(f"\u00a0{view.currency}")
    assert parse_decimal(written, locale=view.language) == view.amount


@pytest.mark.threat("open-redirect")
@pytest.mark.parametrize(
    "address",
    [
        None,
        "",
        "shop.example/back",
        "//shop.example/back",
        "/back",
        "javascript:alert(1)",
        "java\nscript:alert(1)",
        "data:text/html,hello",
        "https://",
        "https:///back",
        "https://shop.example\\@elsewhere.example/",
        " https://shop.example/",
        "https://shop.example/a b",
        "https://[shop.example/",
    ],
)
def test_a_browser_is_not_sent_to_what_is_no_plain_web_address(address: str | None) -> None:
    assert web_address(address) is None
    assert return_page(payment(PaymentState.PAID, return_url=address), polls=0).onward is None


@pytest.mark.parametrize("address", [SHOP, "http://localhost:3000/", "https://магазин.укр/дякуємо"])
def test_a_browser_is_sent_to_web_addresses(address: str) -> None:
    assert web_address(address) == address


@pytest.mark.parametrize(
    ("accept_language", "language"),
    [
        ("uk-UA,uk;q=0.9,en;q=0.8", "uk"),
        ("en-GB,uk;q=0.5", "en"),
        ("pl-PL, UK;q=0.7, en;q=0.3", "uk"),
        ("de,fr", "en"),
        ("*", "en"),
        ("", "en"),
        (",;q=", "en"),
    ],
)
def test_a_stranger_is_spoken_to_in_the_first_language_we_share(accept_language: str, language: str) -> None:
    assert translation_for(accept_language).language == language


def test_the_shopper_sees_amount_and_number() -> None:
    html = translation("en").html
    assert [html(value) for _, _, value in return_page(PAID, polls=0).details] == ["1,234.50\u00a0UAH", "T1a2b3c"]
