"""Names of payments: order ids for the gateway, references for Saleor, languages for people. Pure."""

import base64
import re
import uuid

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.rules.references import (
    new_reference,
    order_id_of,
    reference_of_problem,
    reference_of_refusal,
    reference_of_release,
)
from app.rules.refusal import RefusalCode, RefusalError
from app.rules.requests.languages import base_language, page_language

FITS = re.compile(r"[A-Za-z0-9]{32}")


SHOP, COPY = "https://shop.example.com/graphql/", "https://copy.example.com/graphql/"


@given(st.text(), st.sampled_from([SHOP, COPY]))
def test_a_stores_order_id_is_one_that_the_gateway_takes_and_always_the_same(transaction_id: str, store: str) -> None:
    order_id = order_id_of(transaction_id, store)
    assert FITS.fullmatch(order_id)
    assert order_id_of(transaction_id, store) == order_id


@given(st.uuids(version=4), st.uuids(version=4), st.sampled_from([SHOP, COPY]), st.sampled_from([SHOP, COPY]))
def test_no_store_shares_an_order_id_with_another(one: uuid.UUID, other: uuid.UUID, first: str, second: str) -> None:
    """A copy of a store has the same transactions, and the gateway knows an order once only."""
    for pair in ((one, other), (one, one)):
        ids = [order_id_of(named(token), store) for token, store in zip(pair, (first, second), strict=True)]
        assert (ids[0] == ids[1]) is (pair[0] == pair[1] and first == second)


@given(st.uuids(version=4))
def test_an_order_id_begins_as_its_transaction_does(token: uuid.UUID) -> None:
    assert order_id_of(named(token), SHOP).startswith(token.hex[:12])


def named(token: uuid.UUID) -> str:
    """Return Saleor's id of a transaction."""
    return base64.b64encode(f"TransactionItem:{token}".encode()).decode()


@pytest.mark.law(9)
def test_a_new_reference_is_like_no_other() -> None:
    assert len({new_reference("refund") for _ in range(1000)}) == 1000


def test_derived_references_are_always_the_same_and_none_is_another() -> None:
    derived = [
        reference_of_release("capture-1"),
        reference_of_problem("order", "one"),
        reference_of_problem("order", "two"),
        reference_of_refusal("key-1"),
        reference_of_refusal("key-2"),
    ]
    assert len(set(derived)) == len(derived)
    assert reference_of_refusal("key-1") == derived[3]
    assert all(len(reference) < 100 for reference in [*derived, reference_of_refusal("k" * 5000)])


@pytest.mark.parametrize(
    ("wishes", "language"),
    [
        (("uk-UA", "EN"), "uk"),
        ((None, "PT_BR"), "pt"),
        (("", "ZH_HANS"), "zh"),
        ((None, ""), "en"),
        ((), "en"),
    ],
)
def test_the_first_wish_that_names_a_language_counts(wishes: tuple[str | None, ...], language: str) -> None:
    assert base_language(*wishes) == language


@pytest.mark.parametrize(("language", "page"), [("uk", "UK"), ("en", "EN"), ("ka", None), ("", None)])
def test_the_payment_page_speaks_some_languages(language: str, page: str | None) -> None:
    assert page_language(language) == page


def test_a_refusal_passes_through_anything() -> None:
    """An exception that could not be written to would break every context manager that it passes."""
    refusal = RefusalError(RefusalCode.NOT_POSSIBLE, "no")
    try:
        raise refusal
    except RefusalError as caught:
        caught.__traceback__ = None
        caught.add_note("seen")
    assert str(refusal) == "no"
