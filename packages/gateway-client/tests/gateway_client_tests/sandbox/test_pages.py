"""What people see, over HTTP and without JavaScript."""

import re
from decimal import Decimal
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import httpx2
import pytest

from gateway_client.sandbox.pages.texts import TEXTS, format_money
from gateway_client_tests.sandbox.harness import CHALLENGE, Harness, read_json

CARD = {"number": "4242 4242 4242 4242", "expiry": "12/29", "cvv": "123", "way": "pay"}


async def a_page(harness: Harness, order_id: str = "mugs", **fields: Any) -> str:
    return (await harness.merchant.pay_hosted(order_id, **fields)).headers["location"]


async def submit(harness: Harness, address: str, **form: str) -> httpx2.Response:
    return await harness.merchant.http.post(address, data=form)


async def test_a_typed_card_pays_and_leads_back_to_the_shop(harness: Harness) -> None:
    address = await a_page(harness)
    page = await harness.merchant.http.get(address)
    assert "Pay 100.00\N{NO-BREAK SPACE}UAH" in page.text
    answer = await submit(harness, address, **CARD)
    assert answer.status_code == 303
    back = urlsplit(answer.headers["location"])
    # The shop's own query stays as it was, to the letter.
    assert back.query == "cart=a%2Fb&order_id=mugs&status=success"
    assert await harness.merchant.records("mugs") == [("purchase", "success", "1000")]
    assert "Paid" in (await harness.merchant.http.get(address)).text
    assert (await submit(harness, address, **CARD)).status_code == 303
    assert len(await harness.merchant.records("mugs")) == 1


@pytest.mark.parametrize(("card", "told"), [("4000000040090005", "rejected"), ("4000000021190006", "pending")])
async def test_the_shop_is_told_how_it_ended(harness: Harness, card: str, told: str) -> None:
    answer = await submit(harness, await a_page(harness), card=card)
    assert dict(parse_qsl(urlsplit(answer.headers["location"]).query))["status"] == told


async def test_without_a_shop_to_go_back_to_the_page_says_it(harness: Harness) -> None:
    address = await a_page(harness, result_url=None)
    answer = await harness.merchant.http.post(address, data={"card": "4000000040090005"}, follow_redirects=True)
    assert "Not paid" in answer.text
    assert "4009" in answer.text


@pytest.mark.parametrize(
    ("wrong", "name", "said"),
    [
        ({"number": "4242"}, "number", "bad_number"),
        ({"number": "4000 0566 5566 5556"}, "number", "bad_number"),
        ({"expiry": "13/29"}, "expiry", "bad_expiry"),
        ({"cvv": "12"}, "cvv", "bad_cvv"),
    ],
)
async def test_what_is_typed_wrongly_is_pointed_out(
    harness: Harness, wrong: dict[str, str], name: str, said: str
) -> None:
    address = await a_page(harness)
    answer = await submit(harness, address, **(CARD | wrong))
    assert answer.status_code == 400
    assert TEXTS["en"][said] in answer.text
    assert f'aria-describedby="{name}-problem"' in answer.text
    assert await harness.merchant.records("mugs") == [("purchase", "init", None)]


async def test_3ds_asks_once(harness: Harness) -> None:
    address = await a_page(harness)
    answer = await submit(harness, address, card=CHALLENGE)
    bank = answer.headers["location"]
    assert bank.endswith("/3ds")
    assert (await harness.merchant.http.get(address)).headers["location"] == bank
    assert "Confirm the payment" in (await harness.merchant.http.get(bank)).text
    assert "status=success" in (await submit(harness, bank, answer="confirm")).headers["location"]
    assert (await submit(harness, bank, answer="refuse")).headers["location"].endswith("/form")
    assert (await harness.merchant.http.get(bank)).status_code == 303


async def test_a_refused_3ds_is_a_failure(harness: Harness) -> None:
    answer = await submit(harness, await a_page(harness), card=CHALLENGE)
    refused = await submit(harness, answer.headers["location"], answer="refuse")
    assert "status=rejected" in refused.headers["location"]
    assert await harness.merchant.records("mugs") == [("purchase", "failure", "4147")]


async def test_the_code_by_sms_must_be_right(harness: Harness) -> None:
    answer = await submit(harness, await a_page(harness), card="4000000021020005")
    bank = answer.headers["location"]
    wrong = await submit(harness, bank, answer="confirm", otp="1")
    assert wrong.status_code == 400
    assert TEXTS["en"]["bad_otp"] in wrong.text
    assert "status=success" in (await submit(harness, bank, answer="confirm", otp="123456")).headers["location"]


async def test_leaving_and_expiring(harness: Harness) -> None:
    address = await a_page(harness)
    assert TEXTS["en"]["left_title"] in (await submit(harness, address, way="abandon")).text
    assert await harness.merchant.records("mugs") == [("purchase", "init", None)]
    expired = await harness.merchant.http.post(address, data={"way": "expire"}, follow_redirects=True)
    assert "4149" in expired.text
    assert await harness.merchant.records("mugs") == [("purchase", "failure", "4149")]


async def test_a_qr_page_shows_the_form_of_the_same_payment(harness: Harness) -> None:
    address = await a_page(harness)
    page = await harness.merchant.http.get(address.removesuffix("form") + "qr")
    assert "<svg" in page.text
    assert urlsplit(address).path in page.text
    await harness.control.pay("mugs")
    assert "Paid" in (await harness.merchant.http.get(address.removesuffix("form") + "qr")).text


async def test_the_page_speaks_the_payers_language(harness: Harness) -> None:
    address = await a_page(harness, customer_lang="UK", method="auth", amount="1249.50")
    page = (await harness.merchant.http.get(address)).text
    assert '<html lang="uk">' in page
    assert "Зарезервувати 1\N{NO-BREAK SPACE}249,50\N{NO-BREAK SPACE}UAH" in page
    assert '<html lang="en">' in (await harness.merchant.http.get(f"{address}?lang=en")).text
    assert '<html lang="en">' in (await harness.merchant.http.get(await a_page(harness, "x", customer_lang="PL"))).text


def test_both_languages_have_all_the_words() -> None:
    assert TEXTS["en"].keys() == TEXTS["uk"].keys()
    for name, text in TEXTS["en"].items():
        assert re.findall(r"{\w+}", text) == re.findall(r"{\w+}", TEXTS["uk"][name])
    assert format_money(Decimal("1234567.5"), "EUR", "en") == "1,234,567.50\N{NO-BREAK SPACE}EUR"


async def test_what_a_shop_writes_is_shown_not_run(harness: Harness) -> None:
    address = await a_page(harness, description='<script>alert("x")</script>')
    page = await harness.merchant.http.get(address)
    assert "<script" not in page.text
    assert "&lt;script&gt;" in page.text
    policy = page.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert page.headers["cache-control"] == "no-store"


async def test_pages_that_are_not_there(harness: Harness) -> None:
    for path in (f"/api/v1/checkout/{'0' * 32}/form", f"/public/receipt/{'0' * 32}"):
        assert (await harness.merchant.http.get(path)).status_code == 404


async def test_receipts(harness: Harness) -> None:
    await harness.merchant.pay_direct("mugs")
    refund = read_json(await harness.merchant.operate("refund", "mugs"))
    (payment, _) = read_json(await harness.merchant.look("mugs"))
    assert "424242******4242" in (await harness.merchant.http.get(payment["receipt_url"])).text
    page = (await harness.merchant.http.get(f"{refund['receipt_url']}?lang=uk")).text
    assert "Квитанція про повернення" in page


async def test_the_overview_shows_and_does(harness: Harness) -> None:
    assert "sandbox-api-secret" in (await harness.merchant.http.get("/")).text
    await harness.merchant.pay_hosted("mugs", method="auth")
    await harness.merchant.pay_hosted("slow")
    payment_id = str((await harness.control.pay("mugs")).payment_id)
    await harness.control.pay("slow", card="4000000021190006")
    await harness.quiet()
    page = (await harness.merchant.http.get("/")).text
    assert "mugs" in page
    assert "4 webhooks" not in page
    assert page.count("2 webhooks") == 1

    for act, end in (("capture", ("capture", "success", "1000")), ("refund", ("refund", "success", "1004"))):
        assert (await submit(harness, "/overview/payment", payment_id=payment_id, act=act)).status_code == 303
        assert (await harness.merchant.records("mugs"))[-1] == end
    # An old page offers what is no longer possible: nothing happens.
    assert (await submit(harness, "/overview/payment", payment_id=payment_id, act="void")).status_code == 303
    slow = str((await harness.control.payment("slow")).payment_id)
    await submit(harness, "/overview/payment", payment_id=slow, act="decline")
    assert await harness.merchant.records("slow") == [("purchase", "failure", "4009")]

    await harness.quiet()
    before = len(harness.shop.webhooks)
    await submit(harness, "/overview/payment", payment_id=slow, act="webhook")
    (first, *_) = await harness.control.webhooks("slow")
    await submit(harness, "/overview/webhook", delivery_id=str(first.delivery_id))
    await harness.quiet()
    assert len(harness.shop.webhooks) == before + 2
    nobody = {"payment_id": str(first.delivery_id), "act": "void"}
    assert (await harness.merchant.http.post("/overview/payment", data=nobody)).status_code == 404
    assert (await submit(harness, "/overview/webhook", delivery_id=slow)).status_code == 404


async def test_a_held_webhook_is_sent_from_the_overview(harness: Harness) -> None:
    await harness.control.hold_webhooks()
    await harness.merchant.pay_hosted("mugs")
    await harness.control.expire("mugs")
    (held,) = await harness.control.webhooks()
    await submit(harness, "/overview/webhook", delivery_id=str(held.delivery_id))
    await harness.quiet()
    assert [d.state for d in await harness.control.webhooks()] == ["delivered"]


@pytest.mark.parametrize(
    ("method", "path"), [("GET", "/"), ("GET", "/_sandbox/payments"), ("POST", "/overview/payment")]
)
async def test_other_sites_do_not_steer_the_sandbox(harness: Harness, method: str, path: str) -> None:
    for site, allowed in (("cross-site", False), ("same-site", False), ("same-origin", True), ("none", True)):
        answer = await harness.merchant.http.request(method, path, headers={"sec-fetch-site": site})
        assert (answer.status_code != 403) is allowed
