"""Staff look at one payment, ask the gateway about it, and choose from whom its next refund is taken."""

import re
from decimal import Decimal
from html import unescape
from typing import Any

import httpx2
import pytest

from app.core.payment import Operation
from app.core.vocabulary import Kind, State
from app.rules.split.standing import chosen_shares
from app.web.dashboard.form import InvalidFieldsError
from app.web.dashboard.payments.actions import read_amounts
from integration_base_tests.loopback import json_reply
from tests.commands.books import event, moment_after, notification, operation, store_payment
from tests.commands.conftest import one_database
from tests.dashboard.dashboard_app import StaffClient, names
from tests.payments.fake_gateway import operation as operation_record
from tests.payments.fake_gateway import payment, refusal_reply
from tests.payments.split.market import (
    MUGS,
    SHARES,
    enable_splitting,
    granted_refund_event,
    refund,
    shares,
    split_checkout,
)
from tests.payments.split.people import MARKET, POTTER, SMITH


def text(answer: httpx2.Response) -> str:
    """Return what is read on the page, in one line."""
    assert answer.status_code == 200, answer.text
    return " ".join(unescape(re.sub(r"<[^>]*>", " ", answer.text)).split())


@pytest.fixture
async def market(staff_client: StaffClient) -> StaffClient:
    """The office of a marketplace whose shopper has paid 569.50."""
    await enable_splitting(staff_client.shop)
    await staff_client.shop.complete_payment(sourceObject=split_checkout())
    return staff_client


async def test_each_receipt_is_called_by_what_it_is_of(staff_client: StaffClient) -> None:
    paid, back = "https://gateway.example/receipt/1", "https://gateway.example/receipt/2"
    refunded = operation(
        kind=Kind.REFUND, amount=Decimal("20.50"), idempotency_key="refund", details={"receipt_url": back}
    )
    kept = await staff_client.payment(1, operations=[operation(details={"receipt_url": paid}), refunded])
    page = (await staff_client.see(f"/payments/{kept.order_id}")).text
    links = re.findall(r'<a href="(https://gateway[^"]*)"[^>]*>(.*?)</a>', page)
    receipt = 'Receipt<span class="away"> 20.50\N{NO-BREAK SPACE}UAH</span>'
    assert links == [(paid, "payment, 100.00\N{NO-BREAK SPACE}UAH"), (back, receipt)]
    assert "20.50" in page.partition(back)[0].rpartition("<tr")[2]  # in the row of its refund


async def test_refunds_are_a_table_newest_first(staff_client: StaffClient) -> None:
    def refund_after(minutes: int, state: State = State.SUCCESS, **different: Any) -> Operation:
        at = moment_after(minutes=minutes)
        named = {"idempotency_key": f"refund-{minutes}", "created_at": at, "updated_at": at} | different
        return operation(Kind.REFUND, state, amount=Decimal(minutes), **named)

    staff: dict[str, Any] = {"asked_by": "olena", "asked_by_saleor": False, "request": {"comment": "damaged <b>"}}
    theirs: dict[str, Any] = {"asked_by_saleor": False, "idempotency_key": "gateway:4711"}
    refunds = [
        refund_after(1, **staff),
        refund_after(2, State.PENDING),
        refund_after(3, State.FAILURE),
        refund_after(4, **theirs),
    ]
    kept = await staff_client.payment(1, operations=[operation(), *refunds])
    page = (await staff_client.see(f"/payments/{kept.order_id}")).text
    table = page.partition('id="refunds"')[2].partition("</table>")[0]
    rows = re.findall(r"<tr.*?</tr>", table, re.DOTALL)[1:]
    cells = [[unescape(re.sub(r"<[^>]+>", "", cell)) for cell in re.findall(r"<td.*?</td>", row)] for row in rows]
    assert [[cell.replace("\N{NO-BREAK SPACE}", " ").strip() for cell in row[:5]] for row in cells] == [
        ["4.00 UAH", "refunded", "", "not requested here", "2026-11-21 12:04 UTC"],
        ["3.00 UAH", "failed", "", "Saleor", "2026-11-21 12:03 UTC"],
        ["2.00 UAH", "refund under way", "", "Saleor", "2026-11-21 12:02 UTC"],
        ["1.00 UAH", "refunded", "damaged <b>", "olena", "2026-11-21 12:01 UTC"],
    ]
    whole = await staff_client.payment(2)
    assert 'id="refunds"' not in (await staff_client.see(f"/payments/{whole.order_id}")).text


async def test_activity_is_newest_first_with_one_clock_and_no_names_of_programs(staff_client: StaffClient) -> None:
    made = operation(
        Kind.REFUND,
        asked_by="olena",
        asked_by_saleor=False,
        created_at=moment_after(hours=1),
        updated_at=moment_after(hours=1),
        details={"processed_at": "2026-11-21T13:00:01Z"},
    )
    note = event("INFO", amount=Decimal(0), message="Waiting for the shopper until 2026-11-21 13:00 UTC")
    reports = [note, event(), event("REFUND_SUCCESS", created_at=moment_after(hours=1))]
    kept = await staff_client.payment(1, operations=[operation(), made], events=reports)
    page = (await staff_client.see(f"/payments/{kept.order_id}")).text
    (activity,) = re.findall(r'<ol class="timeline">(.*?)</ol>', page, re.DOTALL)
    lines = re.findall(r'<li class="([^"]*)">(.*?)</li>', activity, re.DOTALL)
    times = [re.findall(r'<time datetime="([^"]*)"', line)[0] for _, line in lines]
    assert times == sorted(times, reverse=True)
    assert len(times) == 10
    words = [re.sub(r"<time.*?</time>", "", line) for _, line in lines]
    assert not [line for line in words if "UTC" in line or re.search(r"[A-Z]{4}|[A-Z]_|\d:\d", line.replace("UAH", ""))]
    shown = [line for (tone, line) in lines if "routine" not in tone and "refund" in line]
    assert len(shown) == 1
    assert "requested in the app by olena" in shown[0]


async def test_each_step_names_the_trace_by_which_an_operator_finds_its_log_lines(staff_client: StaffClient) -> None:
    asked, told = "4bf92f3577b34da6a3ce929d0e0e4736", "a" * 32
    kept = await staff_client.payment(1, operations=[operation(trace_id=asked)], events=[event(trace_id=told)])
    page = text(await staff_client.see(f"/payments/{kept.order_id}"))
    assert re.search(rf"asks the gateway for a payment page Trace {asked}", page), page
    assert re.search(rf"reports to Saleor: charge succeeded, .* Trace {told}", page), page


async def test_everything_that_staff_want_to_know(staff_client: StaffClient) -> None:
    said = {
        "card_mask": "424242******4242",
        "fee": {"amount": "1.4525", "currency": "UAH"},
        "receipt_url": "https://gateway.example/receipt?a=1&b=2",
    }
    kept = await staff_client.payment(
        1,
        operations=[operation(details=said)],
        events=[event()],
        notifications=[notification({"order_id": f"{1:032x}"})],
        problem="Compare it with the <portal>.",
    )
    answer = await staff_client.see(f"/payments/{kept.order_id}")
    page = text(answer)
    for words in (
        "Payment of 100.00 UAH paid",
        "Charged 100.00 UAH Refunded 0.00 UAH Can be refunded 100.00 UAH",
        "Fee 1.4525 UAH Paid with Visa •••• 4242",
        "Order number 1001",
        f"Gateway order ID {1:032x} Transaction in Saleor transaction-1",
        "Merchant account Main",
        "Needs attention Compare it with the <portal>.",
        "Nothing is pending.",
        "gateway notifies: payment succeeded, 100.00 UAH",
        "app reports to Saleor: charge succeeded, 100.00 UAH; delivered",
    ):
        assert words in page, page
    assert 'href="https://gateway.example/receipt?a=1&amp;b=2" target="_blank" rel="noopener noreferrer"' in answer.text
    for private in ("olena", "+380"):
        assert private not in page
    assert "next-refund" not in answer.text


@one_database
async def test_a_card_that_the_customer_has_saved(staff_client: StaffClient) -> None:
    mask = "545454******5454"
    kept = await staff_client.payment(1, saved_card_id="a-card", saved_card_mask=mask, operations=[operation()])
    page = text(await staff_client.see(f"/payments/{kept.order_id}"))
    assert "Paid with Mastercard •••• 5454, saved by the customer" in page
    assert "app asks the gateway for a payment with a saved card (****5454)" in page
    page = text(await staff_client.see(f"/payments/{kept.order_id}", **{"Accept-Language": "uk"}))
    assert "Mastercard •••• 5454, збережена покупцем" in page
    assert "просить шлюз провести оплату збереженою карткою (****5454)" in page


@one_database
@pytest.mark.parametrize(
    ("kept", "details", "words"),
    [
        ({"wallet": "applepay"}, {"card_mask": "424242******4242"}, "Apple Pay · Visa •••• 4242"),
        ({"wallet": "gpay"}, {}, "Google Pay"),
        ({}, {"card_mask": "545454******5454", "payway": "google_pay"}, "Google Pay · Mastercard •••• 5454"),
        ({}, {"payway": "ApplePay"}, "Apple Pay"),
        ({}, {"card_mask": "545454******5454", "payway": "cc"}, "Mastercard •••• 5454"),
        ({}, {"card_mask": "545454******5454", "payway": "whatever"}, "Mastercard •••• 5454"),
        ({}, {"payway": "bank_pay"}, "Bank pay"),
    ],
)
async def test_the_way_in_which_it_was_paid(
    staff_client: StaffClient, kept: dict[str, str], details: dict[str, str], words: str
) -> None:
    """What we were passed for certain, and else what the gateway says of its own page."""
    row = await staff_client.payment(1, operations=[operation(details=details)], **kept)
    page = text(await staff_client.see(f"/payments/{row.order_id}"))
    assert f"Paid with {words} " in page
    if kept:
        assert f"asks the gateway for a payment with {words.partition(' ·')[0]}" in page
    assert f'class="means">{words}</span></td>' in (await staff_client.see("/payments")).text


@one_database
async def test_a_saved_card_is_told_from_others_in_the_list(staff_client: StaffClient) -> None:
    await staff_client.payment(1, saved_card_id="a-card", saved_card_mask="545454******5454")
    assert 'Saved card · <span class="means">Mastercard •••• 5454</span>' in (await staff_client.see("/payments")).text


@one_database
async def test_the_same_in_ukrainian(staff_client: StaffClient) -> None:
    amount = Decimal("1234.50")
    kept = await staff_client.payment(1, amount=amount, operations=[operation(amount=amount)])
    answer = await staff_client.see(f"/payments/{kept.order_id}", **{"Accept-Language": "uk"})
    assert answer.headers["content-language"] == "uk"
    assert "Платіж на 1 234,50 UAH оплачено" in text(answer)


@one_database
async def test_the_whole_story_in_ukrainian(staff_client: StaffClient) -> None:
    shop = staff_client.shop
    await shop.complete_payment()
    shop.gateway.will_answer(refusal_reply("Insufficient balance", "P-400"))
    await shop.request_action("REFUND", "100.00", "first")
    shop.gateway.will_answer(json_reply(operation_record("refund", shop.order_id, "50.00", "pending")))
    await shop.request_action("REFUND", "50.00", "second")
    await shop.notify(payment(shop.order_id, amount="500.00"))
    await shop.work()
    answer = await staff_client.see(f"/payments/{shop.order_id}", **{"Accept-Language": "uk"})
    page = text(answer)
    for words in (
        "Шлюз повідомляє про 500,00 UAH, а запит був на 569,50 UAH.",
        "Saleor просить про платіж: 569,50 UAH, списується одразу",
        "застосунок просить шлюз відкрити сторінку оплати",
        "шлюз сповіщає: платіж — виконано, 569,50 UAH: Успішно [1000]",
        "шлюз відповідає: повернення на суму 50,00 UAH (запит із Saleor) — в очікуванні: В очікуванні [2001]",
        "застосунок перевірить стан (повернення на суму 50,00 UAH), якщо шлюз не сповістить раніше",
    ):
        assert words in page, page
    assert 'lang="en">The gateway refused the request: Insufficient balance' in answer.text
    form = {"key": "0" * 32, "amount": "519.51"}
    headers = staff_client.headers(**{"Accept-Language": "uk"})
    no = await staff_client.http.post(f"/parts/payments/{shop.order_id}/refund", headers=headers, data=form)
    assert no.json()["detail"]["message"].replace("\N{NO-BREAK SPACE}", " ") == (
        "Повернути 519,51 UAH не можна: списано 569,50 UAH, повертається 50,00 UAH. Поверніть щонайбільше 519,50 UAH."
    )


async def test_staff_ask_the_gateway_now(staff_client: StaffClient) -> None:
    shop = staff_client.shop
    shop.gateway.will_answer(shop.gateway.page())
    await shop.begin()
    assert "waiting for the shopper" in text(await staff_client.see(f"/payments/{shop.order_id}"))
    shop.gateway.book[shop.order_id] = [payment(shop.order_id)]
    looked = text(await staff_client.do(f"/payments/{shop.order_id}/look"))
    assert "The payment was looked up at the gateway. This is its current state." in looked
    assert "Payment of 569.50 UAH paid" in looked
    await shop.work()
    assert shop.saleor.reported_types[-1] == "CHARGE_SUCCESS"


@one_database
async def test_a_gateway_that_does_not_answer_is_said_in_words(staff_client: StaffClient) -> None:
    kept = await staff_client.payment(1)
    await staff_client.services.accounts.change(staff_client.shop.account.id, base_url="http://127.0.0.1:9")
    answer = await staff_client.do(f"/payments/{kept.order_id}/look")
    assert answer.status_code == 502
    assert answer.json()["detail"]["message"] == "The request to the gateway failed. Try again in a minute."


async def test_staff_choose_from_whom_the_next_refund_is_taken(market: StaffClient) -> None:
    shop = market.shop
    here = f"/payments/{shop.order_id}"
    before = text(await market.see(here))
    assert "Potter 300.00 UAH 300.00 UAH 0.00 UAH 300.00 UAH" in before
    assert "No choice is set" in before
    assert "300.00 UAH is left" in before

    fields = {f"from_{POTTER}": "40", f"from_{SMITH}": "10,5", f"from_{MARKET}": " "}
    chosen = text(await market.do(f"{here}/next-refund", **fields))
    assert "Your choice was saved for the next refund." in chosen
    assert "Chosen: the next refund of exactly 50.50 UAH is taken like this: Potter: 40.00 UAH Smith: 10.50" in chosen
    assert chosen_shares(await shop.aggregate()) == {POTTER: Decimal("40.00"), SMITH: Decimal("10.50")}
    assert shop.gateway.requests == []

    refused = await shop.request_action("REFUND", "50.00", "another-amount")
    assert refused.result == "REFUND_FAILURE"
    taken = shares(await refund(shop, "50.50", "first", granted=granted_refund_event((MUGS, 1))))
    assert taken == {POTTER: Decimal("40.00"), SMITH: Decimal("10.50")}
    after = text(await market.see(here))
    assert "No choice is set" in after
    assert "Potter 300.00 UAH 300.00 UAH 40.00 UAH 260.00 UAH" in after


@one_database
async def test_a_choice_is_removed(market: StaffClient) -> None:
    shop = market.shop
    here = f"/payments/{shop.order_id}/next-refund"
    await market.do(here, **{f"from_{POTTER}": "40.00"})
    removed = text(await market.do(f"{here}/leave-to-rules"))
    assert "Your choice was removed" in removed
    assert chosen_shares(await shop.aggregate()) is None
    assert set(shares(await refund(shop, "40.00", "first"))) == set(SHARES)


@one_database
@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({f"from_{SMITH}": "199.51"}, "cannot be taken from the sub-merchant Smith: 199.50 UAH is left"),
        ({f"from_{SMITH}": "1.001"}, "Enter amounts like 1234.50."),
        ({f"from_{SMITH}": "0"}, "zero"),
        ({f"from_{SMITH}": "-1"}, "Enter amounts like"),
        ({f"from_{SMITH}": "1,000"}, "Enter amounts like"),
        ({"from_nobody": "1.00"}, "not a sub-merchant"),
        ({f"from_{SMITH}": ""}, "No sub-merchant is chosen"),
        ({}, "No sub-merchant is chosen"),
    ],
)
async def test_what_cannot_be_chosen_changes_nothing(market: StaffClient, fields: dict[str, str], words: str) -> None:
    here = f"/payments/{market.shop.order_id}/next-refund"
    await market.do(here, **{f"from_{POTTER}": "40.00"})
    answer = await market.do(here, **fields)
    assert answer.status_code == 422
    assert words in answer.json()["detail"]["message"]
    assert chosen_shares(await market.shop.aggregate()) == {POTTER: Decimal("40.00")}


@one_database
@pytest.mark.parametrize("what", ["next-refund", "refund"])
@pytest.mark.parametrize(("potter", "smith"), [("1,000", "much"), ("300.01", "199.51"), ("0", "0.00")])
async def test_what_is_wrong_with_each_share_is_said_at_once_beside_it(
    market: StaffClient, what: str, potter: str, smith: str
) -> None:
    fields = {"key": "0" * 32, f"from_{POTTER}": potter, f"from_{SMITH}": smith}
    answer = await market.do(f"/payments/{market.shop.order_id}/{what}", **fields)
    assert answer.status_code == 422
    assert list(answer.json()["detail"]["fields"]) == [f"from.{POTTER}", f"from.{SMITH}"]
    assert market.shop.gateway.requests == []


@one_database
async def test_a_payment_that_is_not_split_has_nothing_to_choose(staff_client: StaffClient) -> None:
    kept = await staff_client.payment(1)
    answer = await staff_client.do(f"/payments/{kept.order_id}/next-refund", **{f"from_{SMITH}": "1.00"})
    assert answer.status_code == 422
    assert "not split" in answer.json()["detail"]["message"]


def test_amounts_are_read_by_whom_they_are_taken_from() -> None:
    typed = [("from.me", "40,50"), ("else", "1"), ("from.you", " ")]
    assert read_amounts(typed, currency="UAH") == {"me": Decimal("40.50")}
    with pytest.raises(InvalidFieldsError) as invalid:
        read_amounts([*typed, ("from.him", "1,000"), ("from.her", "much")], currency="UAH")
    assert [*invalid.value.fields] == ["from.him", "from.her"]


async def test_a_stamp_tells_that_the_page_would_show_something_else(staff_client: StaffClient) -> None:
    shop = staff_client.shop
    shop.gateway.will_answer(shop.gateway.page())
    await shop.begin()
    address = f"/payments/{shop.order_id}/stamp"
    before = (await staff_client.see(address)).text
    assert f'data-stamp="{before}"' in (await staff_client.see(f"/payments/{shop.order_id}")).text
    assert (await staff_client.see(address)).text == before
    await shop.notify(payment(shop.order_id))
    await shop.work()
    after = (await staff_client.see(address)).text
    assert after != before
    assert "data-watch" not in (await staff_client.see(f"/payments/{shop.order_id}")).text
    assert (await staff_client.see("/payments/nobodys/stamp")).status_code == 404


@one_database
async def test_what_is_written_from_right_to_left_does_not_reorder_what_stands_beside_it(
    staff_client: StaffClient,
) -> None:
    number, channel, account, reason = "הזמנה", "חנות", "חשבון", "קטן מדי"
    await staff_client.services.accounts.change(staff_client.shop.account.id, name=account)
    refunded = operation(Kind.REFUND, amount=Decimal("20.50"), request={"comment": reason})
    kept = await store_payment(
        staff_client.services,
        staff_client.shop.account,
        **(names(1) | {"order_number": number, "channel": channel, "operations": [operation(), refunded]}),
    )
    listed = (await staff_client.see("/payments")).text
    page = (await staff_client.see(f"/payments/{kept.order_id}")).text
    assert listed.count(f"Order <bdi>{number}</bdi>") == 2
    assert f"<bdi>{channel}</bdi>" in listed
    for words in (f"Order <bdi>{number}</bdi>", f"<bdi>{channel}</bdi> · <bdi>{account}</bdi>", f"<bdi>{reason}</bdi>"):
        assert words in page, words
