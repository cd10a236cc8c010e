"""The shopper's addresses over HTTP: what they answer, what they believe, what they refuse."""

import asyncio
import re
import struct
from collections import Counter
from datetime import UTC, datetime
from urllib.parse import urljoin
from xml.etree import ElementTree as ET

import httpx2
import pytest
from fastapi import FastAPI
from structlog.testing import capture_logs

from app.web.shopper.limits import MAX_CONCURRENT, MAX_PER_ADDRESS, MAX_WAITING, PageLimits
from app.web.shopper.page import POLLS
from app.web.shopper.router import create_shopper_router
from app.web.shopper.view import PaymentState, PaymentView
from integration_base_tests.clock import Clock
from tests.shopper.conftest import ADDRESS_HEADER, Payments
from tests.shopper.views import CHECKOUT, PAID, SHOP, payment

HERE = f"/pay/return/{PAID.order_id}"
PAGE = f"/pay/{PAID.order_id}"
QR = f"{PAGE}.svg"


def heading(answer: httpx2.Response) -> str:
    found = re.search(r"<h1>(.*)</h1>", answer.text)
    assert found, answer.text
    return found[1]


async def test_a_returning_shopper_reads_that_it_is_paid_and_is_led_back(
    payments: Payments, visitor: httpx2.AsyncClient
) -> None:
    payments.add(PAID)

    answer = await visitor.get(HERE)

    assert answer.status_code == 200
    assert heading(answer) == "Payment received"
    assert f'content="3;url={SHOP}"' in answer.text
    assert payments.returned == []  # nothing left to find out


async def test_what_the_gateway_answers_while_the_shopper_arrives_is_shown_at_once(
    payments: Payments, visitor: httpx2.AsyncClient
) -> None:
    payments.add(payment(PaymentState.WAITING))
    payments.news[PAID.order_id] = PAID

    assert heading(await visitor.get(HERE)) == "Payment received"
    assert payments.returned == [PAID.order_id]


async def test_a_waiting_page_refreshes_itself_and_counts(payments: Payments, visitor: httpx2.AsyncClient) -> None:
    payments.add(payment(PaymentState.WAITING))

    assert 'content="2;url=?n=1"' in (await visitor.get(HERE)).text
    assert 'content="2;url=?n=8"' in (await visitor.get(HERE, params={"n": "7"})).text
    last = await visitor.get(HERE, params={"n": str(POLLS)})
    assert "http-equiv" not in last.text
    assert heading(last) == "No confirmation yet"


@pytest.mark.parametrize("count", ["-1", "x", "", "9999", "1e3", "٣"])
async def test_a_count_that_makes_no_sense_is_a_first_look(
    payments: Payments, visitor: httpx2.AsyncClient, count: str
) -> None:
    payments.add(payment(PaymentState.WAITING))

    assert 'content="2;url=?n=1"' in (await visitor.get(HERE, params={"n": count})).text


async def test_the_shopper_gets_the_page_even_when_asking_the_gateway_fails(
    payments: Payments, visitor: httpx2.AsyncClient
) -> None:
    payments.add(payment(PaymentState.UNKNOWN))
    payments.broken = ConnectionError("the gateway is away")

    with capture_logs() as logs:
        answer = await visitor.get(HERE)

    assert heading(answer) == "Checking whether you paid"
    assert [(entry["event"], entry["error"]) for entry in logs] == [("shopper_return.not_recorded", "ConnectionError")]
    assert "away" not in answer.text + str(logs)


@pytest.mark.parametrize(
    ("query", "languages", "shown"),
    [
        # The link's language, then the browser's.
        ("", ("uk", "en"), "uk"),
        ("", ("pl", "uk-UA,uk;q=0.9,en;q=0.8"), "uk"),  # there is no page in Polish
        ("", ("pl", "pl"), "en"),
        ("?lang=en", ("uk", "uk"), "en"),
        ("?lang=uk", ("en", "en"), "uk"),
        ("?lang=xx", ("uk", "en"), "uk"),
        ("?lang=en,uk", ("uk", "en"), "uk"),
    ],
)
async def test_page_language_is_the_choice_then_the_links_then_the_browsers(
    payments: Payments, visitor: httpx2.AsyncClient, query: str, languages: tuple[str, str], shown: str
) -> None:
    of_link, of_browser = languages
    payments.add(payment(PaymentState.WAITING, checkout_url=CHECKOUT, language=of_link))

    for path in (HERE, PAGE):
        answer = await visitor.get(f"{path}{query}", headers={"Accept-Language": of_browser})
        assert f'<html lang="{shown}">' in answer.text


async def test_missing_payment_is_told_in_the_browsers_language(visitor: httpx2.AsyncClient) -> None:
    for address in ("/pay/T0unknown", "/pay/return/T0unknown"):
        answer = await visitor.get(address, headers={"Accept-Language": "uk"})
        assert (answer.status_code, '<html lang="uk">' in answer.text) == (404, True)
        assert 'href="?lang=en"' in answer.text


_PUNCTUATION = (".", ",", ")", ">", "!", ";", "*", "_", "'", "%22", "%0A", "%C2%A0", "%C2%BB", "%E2%80%8B", "/")


@pytest.mark.parametrize("tail", _PUNCTUATION)
@pytest.mark.parametrize("path", [PAGE, HERE])
async def test_link_with_what_messengers_take_into_it_leads_to_the_payment(
    payments: Payments, visitor: httpx2.AsyncClient, path: str, tail: str
) -> None:
    payments.add(payment(PaymentState.WAITING, checkout_url=CHECKOUT))
    altered = await visitor.get(f"{path}{tail}", params={"lang": "uk"})
    assert altered.status_code == 303
    assert urljoin(str(altered.request.url), altered.headers["location"]).endswith(f"{path}?lang=uk")


async def test_post_to_an_address_with_a_slash_leads_to_the_return_page(
    payments: Payments, visitor: httpx2.AsyncClient
) -> None:
    """Some gateways append one to the address that they were given."""
    payments.add(PAID)
    answer = await visitor.post(f"{HERE}/", data={"status": "success"}, follow_redirects=True)
    assert (answer.status_code, heading(answer)) == (200, "Payment received")


@pytest.mark.parametrize(
    "path", ["/pay/%20", "/pay/T0abc.def", "/pay/return/%20/", "/pay/T0abc/def", f"/pay/{'a' * 33}."]
)
async def test_address_that_holds_no_single_number_is_not_found(visitor: httpx2.AsyncClient, path: str) -> None:
    assert (await visitor.get(path)).status_code == 404


async def test_chosen_language_is_kept_while_the_page_polls(payments: Payments, visitor: httpx2.AsyncClient) -> None:
    payments.add(payment(PaymentState.WAITING, checkout_url=CHECKOUT))

    waiting = await visitor.get(PAGE, params={"lang": "uk"})
    assert 'data-onward="?lang=uk&amp;w=1"' in waiting.text
    assert '<a href="?lang=en" hreflang="en">English</a>' in waiting.text
    assert '<span aria-current="true">Українська</span>' in waiting.text
    last = await visitor.get(PAGE, params={"lang": "uk", "w": "90"})
    assert 'href="?lang=uk"' in last.text
    paid = await visitor.get(HERE, params={"lang": "uk"})
    assert 'data-onward="?lang=uk&amp;n=1"' in paid.text
    payments.add(PAID)
    assert f'data-onward="{SHOP}"' in (await visitor.get(HERE, params={"lang": "uk"})).text


@pytest.mark.threat("open-redirect")
async def test_what_stands_in_the_address_is_not_believed(payments: Payments, visitor: httpx2.AsyncClient) -> None:
    payments.add(payment(PaymentState.FAILED))

    answer = await visitor.get(
        HERE, params={"order_id": "T9other", "status": "success", "return_url": "https://x.example"}
    )

    assert heading(answer) == "The payment did not go through"
    assert "T9other" not in answer.text
    assert "x.example" not in answer.text


async def test_a_browser_sent_back_by_a_form_is_asked_to_get_the_same_page(
    payments: Payments, visitor: httpx2.AsyncClient
) -> None:
    payments.add(payment(PaymentState.FAILED))

    answer = await visitor.post(HERE, data={"order_id": "T9other", "status": "success"})
    assert (answer.status_code, answer.headers["location"]) == (303, PAID.order_id)

    followed = await visitor.post(HERE, data={"status": "success"}, follow_redirects=True)
    assert followed.url.path == HERE
    assert heading(followed) == "The payment did not go through"


@pytest.mark.threat("enumeration")
@pytest.mark.parametrize("verb", ["GET", "POST"])
@pytest.mark.parametrize("order_id", ["a" * 33, "..", "%2e%2e", "a-b", "a%20b", "%3Cscript%3E", "ї"])
async def test_what_cannot_be_an_order_is_not_even_looked_up(
    payments: Payments, visitor: httpx2.AsyncClient, verb: str, order_id: str
) -> None:
    answer = await visitor.request(verb, f"/pay/return/{order_id}")

    assert answer.status_code == 404
    assert payments.searched == []
    assert payments.returned == []


@pytest.mark.parametrize(
    ("accept_language", "says"), [("uk-UA,uk;q=0.9", "Такого платежу немає"), ("de", "Payment not found")]
)
async def test_an_unknown_order_gets_a_page_that_says_what_to_do(
    payments: Payments, visitor: httpx2.AsyncClient, accept_language: str, says: str
) -> None:
    answer = await visitor.get("/pay/return/nobodysOrder", headers={"Accept-Language": accept_language})

    assert answer.status_code == 404
    assert heading(answer) == says
    assert "nobodysOrder" not in answer.text
    assert payments.returned == []  # strangers cannot make us ask the gateway


async def test_the_page_speaks_the_language_of_the_payment(payments: Payments, visitor: httpx2.AsyncClient) -> None:
    payments.add(payment(PaymentState.AUTHORISED, language="uk"))

    answer = await visitor.get(HERE, headers={"Accept-Language": "en"})

    assert '<html lang="uk">' in answer.text
    assert heading(answer) == "Суму зарезервовано"
    assert "1\u00a0234,50\u00a0UAH" in answer.text


@pytest.mark.threat("xss-shopper")
async def test_a_message_cannot_bring_markup(payments: Payments, visitor: httpx2.AsyncClient) -> None:
    payments.add(payment(PaymentState.FAILED, message='<script>alert(1)</script>"'))

    answer = await visitor.get(HERE)

    assert "<script>alert" not in answer.text
    assert "&lt;script&gt;alert(1)" in answer.text


@pytest.mark.threat("xss-shopper", "clickjacking")
async def test_pages_run_no_foreign_script_are_not_framed_kept_or_told_to_others(
    payments: Payments, visitor: httpx2.AsyncClient
) -> None:
    payments.add(PAID)
    for answer in (await visitor.get(HERE), await visitor.get("/pay/return/nobodysOrder"), await visitor.post(HERE)):
        policy = answer.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "frame-ancestors 'none'" in policy
        assert "unsafe" not in policy
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["referrer-policy"] == "no-referrer"
        assert answer.headers["cache-control"] == "no-store, no-transform"


async def test_the_qr_image_can_be_shown_by_a_storefront(payments: Payments, visitor: httpx2.AsyncClient) -> None:
    payments.add(payment(PaymentState.WAITING, checkout_url=CHECKOUT))

    answer = await visitor.get(QR)

    assert answer.status_code == 200
    assert answer.headers["content-type"] == "image/svg+xml"
    assert answer.headers["cross-origin-resource-policy"] == "cross-origin"
    image = ET.fromstring(answer.content)  # noqa: S314 - our own drawing
    assert image.tag == "{http://www.w3.org/2000/svg}svg"
    assert image.get("viewBox")
    ((ground, dots),) = image
    assert (ground.get("fill"), dots.get("stroke")) == ("#fff", "#000")  # in dark mode too: phones want it so


async def test_another_link_is_another_image(payments: Payments, visitor: httpx2.AsyncClient) -> None:
    payments.add(payment(PaymentState.WAITING, checkout_url=CHECKOUT))
    one = await visitor.get(QR)
    payments.add(payment(PaymentState.WAITING, checkout_url=CHECKOUT.replace("6f0e", "6f0f")))

    assert (await visitor.get(QR)).content != one.content


@pytest.mark.parametrize("checkout_url", [None, "javascript:alert(1)"])
async def test_there_is_no_qr_image_where_nothing_can_be_paid(
    payments: Payments, visitor: httpx2.AsyncClient, checkout_url: str | None
) -> None:
    payments.add(payment(PaymentState.PAID, checkout_url=checkout_url))

    assert (await visitor.get(QR)).status_code == 404
    assert (await visitor.get(f"{PAGE}.png")).status_code == 404


async def test_address_that_fits_no_qr_code_is_only_a_link(payments: Payments, visitor: httpx2.AsyncClient) -> None:
    for number, fits in ((1_000, True), (3_000, False)):
        payments.add(payment(PaymentState.WAITING, checkout_url=f"{CHECKOUT}?token={'x' * number}"))
        page = await visitor.get(PAGE)
        assert (page.status_code, "<img" in page.text, "x" * number in page.text) == (200, fits, True)
        for image in (QR, f"{PAGE}.png"):
            assert (await visitor.get(image)).status_code == (200 if fits else 404)


async def test_the_same_code_is_there_as_png(payments: Payments, visitor: httpx2.AsyncClient) -> None:
    payments.add(payment(PaymentState.WAITING, checkout_url=CHECKOUT))

    answer = await visitor.get(f"{PAGE}.png")

    assert (answer.status_code, answer.headers["content-type"]) == (200, "image/png")
    assert answer.content.startswith(b"\x89PNG\r\n\x1a\n")
    width, height = struct.unpack(">II", answer.content[16:24])
    assert width == height >= 300


@pytest.mark.threat("enumeration")
@pytest.mark.parametrize("path", ["/pay/{}", "/pay/{}.svg", "/pay/{}.png", "/pay/return/{}"])
async def test_whoever_guesses_learns_nothing(payments: Payments, visitor: httpx2.AsyncClient, path: str) -> None:
    payments.add(payment(PaymentState.PAID, order_id="0123456789abcdef0123456789abcdef"))
    guesses = ("0123456789abcdef0123456789abcdee", "T1a2b3c", "1042", "a-b", "x" * 200)

    answers = [await visitor.get(path.format(guess)) for guess in guesses]

    assert {answer.status_code for answer in answers} == {404}
    assert len({answer.content for answer in answers}) == 1
    assert payments.returned == []


async def test_a_payment_link_says_what_is_to_be_paid_and_leads_to_the_gateway(
    payments: Payments, visitor: httpx2.AsyncClient
) -> None:
    until = datetime(2026, 11, 21, 13, 0, tzinfo=UTC)
    payments.add(
        payment(PaymentState.WAITING, checkout_url=CHECKOUT, expires_at=until, description="Order <21> of a shop")
    )

    answer = await visitor.get(PAGE)

    assert answer.status_code == 200
    assert heading(answer) == "Pay 1,234.50\u00a0UAH"
    assert "Order &lt;21&gt; of a shop" in answer.text
    assert f'<a href="{CHECKOUT}" class="first">' in answer.text
    assert f'<img src="{PAID.order_id}.svg" alt="QR code' in answer.text
    assert '<time datetime="2026-11-21T13:00:00Z">2026-11-21 13:00 UTC</time>' in answer.text
    assert 'content="10;url=?w=1"' in answer.text
    assert payments.returned == []  # nobody has paid yet: the gateway is left alone


@pytest.mark.law(10)
@pytest.mark.parametrize("path", [PAGE, f"{HERE}?n={POLLS}"], ids=["link", "return page"])
async def test_page_of_what_is_not_owed_leads_nowhere(
    payments: Payments, visitor: httpx2.AsyncClient, path: str
) -> None:
    payments.add(payment(PaymentState.WAITING, checkout_url=CHECKOUT))
    assert CHECKOUT in (await visitor.get(path)).text
    payments.not_owed = {PAID.order_id}
    answer = await visitor.get(path)
    assert (answer.status_code, CHECKOUT in answer.text) == (200, False)
    for image in (QR, f"{PAGE}.png"):
        assert (await visitor.get(image)).status_code == 404


async def test_page_leads_on_though_saleor_cannot_be_asked(payments: Payments, visitor: httpx2.AsyncClient) -> None:
    payments.add(payment(PaymentState.WAITING, checkout_url=CHECKOUT))
    payments.broken = ConnectionError("the secret is 1234")
    with capture_logs() as logs:
        answer = await visitor.get(PAGE)
    assert CHECKOUT in answer.text
    assert [entry["event"] for entry in logs] == ["page.not_checked"]
    assert "1234" not in str(logs)


async def test_only_an_open_page_is_checked(payments: Payments, visitor: httpx2.AsyncClient) -> None:
    payments.add(PAID)
    await visitor.get(PAGE)
    payments.add(payment(PaymentState.WAITING, checkout_url=CHECKOUT))
    await visitor.head(PAGE)
    assert payments.checked == []


async def test_a_payment_link_looks_again_for_a_quarter_of_an_hour(
    payments: Payments, visitor: httpx2.AsyncClient
) -> None:
    payments.add(payment(PaymentState.WAITING, checkout_url=CHECKOUT))

    last = await visitor.get(PAGE, params={"w": "90"})

    assert "http-equiv" not in last.text
    assert "Check again" in last.text


async def test_a_payment_link_tells_what_became_of_it(payments: Payments, visitor: httpx2.AsyncClient) -> None:
    told = {}
    for state, more in (
        (PaymentState.PAID, {}),
        (PaymentState.FAILED, {}),
        (PaymentState.EXPIRED, {}),
        (PaymentState.WAITING, {}),
        (PaymentState.WAITING, {"overdue": True}),
        (PaymentState.WAITING, {"being_closed": True}),
    ):
        payments.add(payment(state, return_url=None, **more))
        answer = await visitor.get(PAGE, params={"w": "7"})
        assert 'src="T1a2b3c.svg"' not in answer.text
        assert CHECKOUT not in answer.text
        told[state, *more] = (heading(answer), "ask the shop for a new payment link" in answer.text)
    assert told == {
        (PaymentState.PAID,): ("Payment received", False),
        (PaymentState.FAILED,): ("The payment did not go through", True),
        (PaymentState.EXPIRED,): ("This payment is closed", True),
        (PaymentState.WAITING,): ("Checking your payment", False),
        (PaymentState.WAITING, "overdue"): ("The time to pay has run out", True),
        (PaymentState.WAITING, "being_closed"): ("This payment is being closed", True),
    }
    assert len(payments.returned) == 3  # somebody may have paid: the gateway is asked


async def test_a_payment_link_speaks_ukrainian(payments: Payments, visitor: httpx2.AsyncClient) -> None:
    payments.add(payment(PaymentState.WAITING, checkout_url=CHECKOUT, language="uk"))

    answer = await visitor.get(PAGE)

    assert heading(answer) == "Оплата 1\u00a0234,50\u00a0UAH"
    assert "Перейти до оплати" in answer.text


@pytest.mark.threat("flood")
async def test_pages_are_made_a_few_at_a_time_and_who_comes_when_too_many_wait_is_sent_away(
    payments: Payments, address: str
) -> None:
    """Hundreds of pages at once never stand between a webhook and the database."""
    here, most, door = 0, 0, asyncio.Event()
    find = payments.find

    async def slow(order_id: str) -> PaymentView | None:
        nonlocal here, most
        here += 1
        most = max(most, here)
        if here == MAX_CONCURRENT:
            door.set()
        await door.wait()
        await asyncio.sleep(0)
        here -= 1
        return await find(order_id)

    payments.add(PAID)
    app = FastAPI()
    app.include_router(create_shopper_router(slow, payments.on_return, PageLimits(Clock())))
    transport = httpx2.ASGITransport(app)
    async with httpx2.AsyncClient(transport=transport, base_url="http://pay.example") as visitor:
        answers = await asyncio.gather(*(visitor.get(HERE) for _ in range(MAX_CONCURRENT + MAX_WAITING + 50)))
    statuses = Counter(answer.status_code for answer in answers)
    assert most == MAX_CONCURRENT
    assert statuses == {200: MAX_CONCURRENT + MAX_WAITING, 503: 50}
    assert {answer.headers.get("Retry-After") for answer in answers if answer.status_code == 503} == {"2"}


@pytest.mark.threat("flood")
async def test_an_address_that_the_proxy_tells_gets_only_so_many_pages(
    payments: Payments, visitor: httpx2.AsyncClient, clock: Clock
) -> None:
    payments.add(PAID)

    async def comes(told: str) -> int:
        return (await visitor.get(HERE, headers={ADDRESS_HEADER: told})).status_code

    # What stands before the last address is what callers claim.
    assert {await comes(f"10.0.0.{number}, 203.0.113.7") for number in range(MAX_PER_ADDRESS)} == {200}
    assert await comes("203.0.113.7") == 429
    assert await comes("203.0.113.7, 203.0.113.8") == 200
    assert {await comes(f"2001:db8::{number:x}") for number in range(MAX_PER_ADDRESS)} == {200}
    assert await comes("2001:db8::ffff") == 429
    assert await comes("2001:db8:0:1::1") == 200
    # Some proxies add the port, others write IPv4 as IPv6: those who call through them are still not one caller.
    assert await comes("203.0.113.7:52344") == 429
    assert {await comes(f"198.51.100.{number}:52344") for number in range(MAX_PER_ADDRESS + 1)} == {200}
    assert await comes("::ffff:203.0.113.7") == 429
    assert {await comes(f"::ffff:192.0.2.{number}") for number in range(MAX_PER_ADDRESS + 1)} == {200}
    clock.forward(minutes=1)
    assert await comes("203.0.113.7") == 200


@pytest.mark.threat("flood")
@pytest.mark.parametrize(
    ("path", "again", "style"),
    [
        (HERE, "?", "../../static"),
        (f"{HERE}?n=3", "?n=3", "../../static"),
        (f"{PAGE}?w=2&n=1&x=5", "?w=2&amp;n=1", "../static"),
    ],
)
async def test_shoppers_turned_away_by_the_load_get_a_page_that_loads_again_by_itself(
    payments: Payments, visitor: httpx2.AsyncClient, path: str, again: str, style: str
) -> None:
    """A mobile carrier's customers share an address: one of them who has paid must not be left with an error."""
    payments.add(PAID)
    headers = {ADDRESS_HEADER: "203.0.113.7", "Accept-Language": "uk"}
    for _ in range(MAX_PER_ADDRESS):
        await visitor.get("/pay/return/nobody", headers=headers)

    answer = await visitor.get(path, headers=headers)

    assert (answer.status_code, answer.headers["Retry-After"]) == (429, "10")
    assert answer.headers["Content-Type"] == "text/html; charset=utf-8"
    assert heading(answer) == "Зараз забагато відвідувачів"
    assert f'content="10;url={again}"' in answer.text
    assert f'href="{style}/' in answer.text


@pytest.mark.parametrize("path", [PAGE, HERE, f"{PAGE}.svg", f"{PAGE}.png", "/pay/color/00ff00.css"])
async def test_link_previews_may_ask_for_the_head_and_cause_no_look_up(
    payments: Payments, visitor: httpx2.AsyncClient, path: str
) -> None:
    payments.add(payment(PaymentState.WAITING, checkout_url=CHECKOUT))

    assert (await visitor.head(path)).status_code == 200
    assert payments.returned == []


async def test_who_is_told_no_address_is_not_limited_by_it(payments: Payments) -> None:
    payments.add(PAID)
    app = FastAPI()
    app.include_router(create_shopper_router(payments.find, payments.on_return, PageLimits(Clock())))
    transport = httpx2.ASGITransport(app)
    async with httpx2.AsyncClient(transport=transport, base_url="http://pay.example") as visitor:
        for _ in range(MAX_PER_ADDRESS + 1):
            assert (await visitor.get(HERE, headers={ADDRESS_HEADER: "203.0.113.7"})).status_code == 200
