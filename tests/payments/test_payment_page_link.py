"""Whatever Saleor shows of a payment leads to the payment's page (Saleor contract, A.4, A.7)."""

import pytest

from app.rules.addresses import Addresses
from integration_base_tests.loopback import HangUp, json_reply
from saleor_app_sdk.limits import LINK_LENGTH
from tests.payments.fake_gateway import operation
from tests.payments.shop import SALEOR, TOTAL, Shop

# For what does not depend on the database.
one_database = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)


def page(shop: Shop) -> str:
    """Return where staff see the shop's payment."""
    return f"https://pay.example.com/payments/{shop.order_id}?saleorApiUrl={SALEOR}"


async def test_every_answer_and_every_report_names_it(shop: Shop) -> None:
    shop.gateway.will_answer(shop.gateway.page())
    assert (await shop.begin()).external_url == page(shop)
    assert (await shop.begin()).external_url == page(shop)  # the same question, from what is recorded
    assert (await shop.process_session()).external_url == page(shop)
    await shop.pass_time(seconds=25)
    assert {report.external_url for report in shop.saleor.reports} == {page(shop)}


@one_database
async def test_staff_are_told_where_to_see_why(paid_shop: Shop) -> None:
    refused = await paid_shop.request_action("REFUND", "1000.00", "too-much")
    assert (refused.outcome, refused.external_url) == ("FAILURE", page(paid_shop))
    in_euro = await paid_shop.request_action("REFUND", "1.00", "in-euro", currency="EUR")
    assert (in_euro.outcome, in_euro.external_url) == ("FAILURE", page(paid_shop))
    paid_shop.gateway.will_answer(json_reply(operation("refund", paid_shop.order_id, TOTAL)))
    done = await paid_shop.request_action("REFUND", TOTAL, "all")
    assert (done.outcome, done.external_url) == ("SUCCESS", page(paid_shop))


@one_database
async def test_an_answer_that_is_only_a_reference_stays_that(paid_shop: Shop) -> None:
    paid_shop.gateway.will_answer(HangUp())
    answer = await paid_shop.request_action("REFUND", TOTAL)
    assert set(answer.dump()) == {"pspReference"}


@one_database
async def test_a_session_that_is_refused_has_no_page(shop: Shop) -> None:
    answer = await shop.begin(currency="XXX")
    assert (answer.result, answer.external_url) == ("CHARGE_FAILURE", None)
    assert await shop.find_aggregate() is None


def test_where_staff_come_by_another_way_the_page_is_there() -> None:
    addresses = Addresses("http://app:3000", "https://apps.example.com/pay")
    assert addresses.payment_page(SALEOR, "7") == f"https://apps.example.com/pay/payments/7?saleorApiUrl={SALEOR}"


def test_an_address_that_saleor_would_choke_on_is_not_said() -> None:
    """A charge is worth more than a link: an address that Saleor refuses would make a failure of a success."""
    assert Addresses("http://app:3000").payment_page(SALEOR, "7") is None
    long = "https://" + "a" * 60 + ".example.com"
    with_store = Addresses(long).payment_page(SALEOR, "7" * 32)
    assert with_store is not None
    without = Addresses(long).payment_page(SALEOR.replace("shop", "s" * 60), "7" * 32)
    assert without == f"{long}/payments/{'7' * 32}"
    assert len(with_store) <= LINK_LENGTH
