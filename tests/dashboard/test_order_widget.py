"""The widget on an order's page: what staff see of its payments, and links to pay it."""

import re
from datetime import timedelta
from decimal import Decimal
from html import unescape

import httpx2
import pytest

from app.ledger.tables import Kind, State
from app.payments.outcome.problems import raise_on
from app.payments.said import Said
from app.saleor import orders
from app.saleor.testing import NewCheckout
from tests.commands.conftest import one_database
from tests.dashboard.counter import WIDGET, Counter
from tests.journeys.town import eventually
from tests.payments.shop import at_once
from tests.payments.till import BROKEN, refused


def text(answer: httpx2.Response, status: int = 200) -> str:
    """Return what is read in the widget, in one line."""
    assert answer.status_code == status, answer.text
    body = answer.text.partition("<body>")[2]
    return " ".join(unescape(re.sub(r"<[^>]*>", " ", body)).split())


def field(answer: httpx2.Response, name: str) -> str:
    """Return the value of a field of the widget's forms."""
    found = re.search(rf'name="{name}" value="([^"]*)"', answer.text)
    assert found is not None, answer.text
    return unescape(found[1])


async def test_an_order_that_nobody_has_paid(counter: Counter) -> None:
    shown = await counter.see((await counter.order()).id)
    assert "No payment of this order went through this app yet." in text(shown)
    assert "569.50 UAH of this order is left to pay. You may ask for less." in text(shown)
    assert field(shown, "amount") == "569.50"


async def test_a_payment_of_the_checkout_that_became_the_order(counter: Counter) -> None:
    counter.till.will(counter.till.page())
    checkout = await counter.saleor.new_checkout()
    session = await counter.saleor.initialize(checkout.id)
    (sheet,) = await counter.sheets_of(session.paid_for.id)
    order_id = sheet.payment.order_id
    await counter.pays(sheet)
    await counter.work()
    order = (await counter.saleor.complete(checkout.id)).order
    assert order is not None

    shown = await counter.see(order.id)

    assert "569.50 UAH paid" in text(shown)
    assert "Nothing of this order is left to pay." in text(shown)
    assert "Create payment link" not in text(shown)
    assert f'href="/payments/{order_id}?saleorApiUrl=http' in shown.text


async def test_a_link_is_made_by_saleors_own_way_and_shown(counter: Counter) -> None:
    order = await counter.order()
    before = await counter.see(order.id)
    counter.till.will(counter.till.page())

    made = await counter.see(order.id, "/link", amount=field(before, "amount"), attempt=field(before, "attempt"))

    assert "The link is ready: send it to the customer." in text(made)
    assert "569.50 UAH waiting for the shopper" in text(made)
    (transaction,) = await counter.saleor.transactions()
    assert transaction.order_id == order.id
    assert transaction.types() == ["CHARGE_REQUEST", "CHARGE_ACTION_REQUIRED"]
    (sheet,) = await counter.payments(order)
    assert (sheet.payment.transaction_id, sheet.payment.order_number) == (transaction.id, order.number)
    assert f'readonly value="{counter.url}/pay/{sheet.payment.order_id}"' in made.text
    assert f'src="/pay/{sheet.payment.order_id}.svg"' in made.text

    await counter.pays(sheet)
    assert "569.50 UAH paid" in text(await counter.see(order.id))


async def test_sending_the_same_form_again_gives_the_same_link(counter: Counter) -> None:
    order = await counter.order()
    form = {name: field(await counter.see(order.id), name) for name in ("amount", "attempt")}
    counter.till.will(counter.till.page())

    twice = await at_once(*(counter.see(order.id, "/link", **form) for _ in range(2)))
    again = await counter.see(order.id, "/link", **form)

    (transaction,) = await counter.saleor.transactions()
    (sheet,) = await counter.payments(order)
    assert sheet.payment.transaction_id == transaction.id
    assert counter.till.calls == ["payment"]
    assert f"/pay/{sheet.payment.order_id}" in again.text
    # Of two at the same moment the slower may be told to look again, but never gets another link.
    assert min(each.status_code for each in twice) == 200
    assert all("/pay/" not in each.text or sheet.payment.order_id in each.text for each in twice)


async def test_a_part_is_paid_by_link_and_then_the_rest(counter: Counter) -> None:
    order = await counter.order()
    part = await counter.link(order, "100,5")
    assert part.payment.amount == Decimal("100.50")
    await counter.pays(part)

    shown = await counter.see(order.id)
    assert field(shown, "amount") == "469.00"  # though Saleor has not heard of the payment yet
    rest = await counter.link(order, "469.00", "another")
    await counter.pays(rest)
    assert "Nothing of this order is left to pay." in text(await counter.see(order.id))


async def test_a_link_over_another_amount_takes_the_place_of_the_first(counter: Counter) -> None:
    order = await counter.order()
    first = await counter.link(order)
    second = await counter.link(order, "100.00", "another")
    first, second = await counter.payments(order)
    assert [each.kind for each in first.operations] == [Kind.CREATE, Kind.CANCEL]
    assert second.create.state is State.INIT
    shown = await counter.see(order.id)
    assert f"/pay/{second.payment.order_id}.svg" in shown.text
    assert f"/pay/{first.payment.order_id}.svg" not in shown.text


@one_database
async def test_a_link_over_more_than_is_left_is_told(counter: Counter) -> None:
    order = await counter.order()
    await counter.link(order)
    words = "It asks for more than is left to pay of this order. Close it."
    assert words not in text(await counter.see(order.id))
    counter.running.engine.world.order(order.id).basket.gift_cards = Decimal("100.00")
    assert words in text(await counter.see(order.id))
    await counter.saleor.go_wrong(graphql_status=503)
    assert words not in text(await counter.see(order.id))  # nobody knows


@one_database
async def test_a_link_that_saleor_was_too_slow_with_is_the_same_when_asked_again(
    counter: Counter, monkeypatch: pytest.MonkeyPatch
) -> None:
    order = await counter.order()
    form = {name: field(await counter.see(order.id), name) for name in ("amount", "attempt")}
    counter.till.will(counter.till.page())
    monkeypatch.setattr(orders, "_WITH_THE_APP", timedelta(seconds=0.2))
    await counter.saleor.go_wrong(graphql_delay=0.5, graphql_times=2)

    slow = await counter.see(order.id, "/link", **form)
    assert "The link may have been made all the same" in text(slow, 422)

    monkeypatch.undo()
    await eventually(lambda: counter.payments(order))
    again = await counter.see(order.id, "/link", **form)
    assert "The link is ready" in text(again)
    assert len(await counter.saleor.transactions()) == 1
    assert counter.till.calls == ["payment"]


async def test_a_link_is_closed_and_the_same_form_closes_it_once(counter: Counter) -> None:
    order = await counter.order()
    sheet = await counter.link(order)
    form = {name: field(await counter.see(order.id), name) for name in ("payment", "key")}
    counter.till.will(counter.closed(sheet))

    closed = await counter.see(order.id, "/close", **form)

    assert "The payment is cancelled, and its page is closed." in text(closed)
    assert "569.50 UAH cancelled" in text(closed)
    assert "/pay/" not in closed.text
    assert text(await counter.see(order.id, "/close", **form)) == text(closed)
    assert counter.till.calls == ["payment", "cancel"]
    await counter.work()
    (transaction,) = await counter.saleor.transactions()
    assert "Staff cancelled the payment in the app" in transaction.event("CHARGE_FAILURE").message

    again = await counter.link(order, "569.50", "another")
    assert again.payment.order_id != sheet.payment.order_id


@one_database
async def test_a_link_that_was_paid_meanwhile_is_not_closed(counter: Counter) -> None:
    order = await counter.order()
    sheet = await counter.link(order)
    form = {name: field(await counter.see(order.id), name) for name in ("payment", "key")}
    await counter.pays(sheet)
    refusal = await counter.see(order.id, "/close", **form)
    assert "569.50 UAH paid" in text(refusal, 422)
    for strange in ({"payment": "of-nobody", "key": "0" * 32}, {"payment": sheet.payment.order_id, "key": "x"}, {}):
        assert 'role="alert"' in (await counter.see(order.id, "/close", **strange)).text
    assert counter.till.calls == ["payment"]


async def test_what_was_refunded_is_not_asked_for_again(counter: Counter) -> None:
    order = await counter.order()
    sheet = await counter.link(order)
    await counter.pays(sheet)
    await counter.work()
    assert "left to pay" in text(await counter.see(order.id))
    counter.refunds(sheet, "69.50")
    await counter.saleor.refund(sheet.payment.transaction_id, Decimal("69.50"))
    await counter.saleor.background_done()
    shown = text(await counter.see(order.id))
    assert "569.50 UAH partly refunded Nothing" in shown.replace(" 2026-11-21 12:00 UTC", "")


@one_database
@pytest.mark.parametrize(
    ("typed", "words"),
    [
        ("569.51", "569.50 UAH is left to pay of this order: ask for no more."),
        ("0", "the amount is zero"),
        ("1,000", "Write amounts like 1234.50."),
        ("-1", "Write amounts like"),
        ("", "Write amounts like"),
    ],
)
async def test_an_amount_that_cannot_be_asked_for(counter: Counter, typed: str, words: str) -> None:
    order = await counter.order()
    answer = await counter.see(order.id, "/link", amount=typed)
    assert words in text(answer, 422)
    assert await counter.saleor.transactions() == []


@one_database
async def test_nobody_is_asked_to_pay_a_cancelled_or_paid_order(counter: Counter) -> None:
    cancelled, paid = await counter.order(), await counter.order()
    await counter.saleor.cancel_order(cancelled.id)
    await counter.pays(await counter.link(paid))
    begun = len(await counter.saleor.transactions())
    assert "it is cancelled: nobody can be asked to pay it" in text(await counter.see(cancelled.id))
    for order, words in ((cancelled, "Nobody can pay this order"), (paid, "Nothing of this order is left to pay.")):
        answer = await counter.see(order.id, "/link", amount="1.00")
        assert words in text(answer, 422)
    assert len(await counter.saleor.transactions()) == begun


@one_database
async def test_why_there_is_no_link_is_said_in_words(counter: Counter) -> None:
    nameless = await counter.order(NewCheckout(address={"phone": ""}))
    answer = await counter.see(nameless.id, "/link", amount="1.00")
    words = "The order has no phone number, which the gateway needs: add it to the order"
    assert words in text(answer, 422)

    foreign = await counter.order(NewCheckout(channel_slug="<b>%s"))
    answer = await counter.see(foreign.id, "/link", amount="1.00")
    assert "It was not done: Payments are not set up for the sales channel '<b>%s'" in text(answer, 422)
    assert "&lt;b&gt;%s" in answer.text

    order = await counter.order()
    counter.till.will(refused("Amount is out of limits", "P-422"))
    answer = await counter.see(order.id, "/link", amount="1.00")
    assert "Amount is out of limits" in text(answer, 422)
    assert "1.00 UAH failed" in text(answer, 422)

    counter.till.will(BROKEN)
    answer = await counter.see(order.id, "/link", amount="2.00")
    assert "The address of the payment page got lost with the gateway's answer" in text(answer, 422)


@one_database
async def test_saleor_is_away(counter: Counter) -> None:
    order = await counter.order()
    sheet = await counter.link(order)
    await counter.saleor.go_wrong(graphql_status=503)
    shown = await counter.see(order.id)
    assert "Saleor could not be asked about this order." in text(shown)
    assert f"/pay/{sheet.payment.order_id}.svg" in shown.text
    assert "Create payment link" not in text(shown)
    answer = await counter.see(order.id, "/link", amount="1.00")
    assert "Saleor could not be asked about this order: try again in a minute." in text(answer, 422)


@one_database
async def test_an_order_that_is_none(counter: Counter) -> None:
    for order_id in ("garbage", "T3JkZXI6MDAwMDAwMDAtMDAwMC00MDAwLTgwMDAtMDAwMDAwMDAwMDAw"):
        assert "Saleor has no such order." in text(await counter.see(order_id))
        assert "Saleor has no such order." in text(await counter.see(order_id, "/link", amount="1"), 422)
    assert "does not say which order this is" in text(await counter.see(""), 400)
    assert "does not say which order this is" in text(await counter.see("x" * 201), 400)


@one_database
async def test_problems_are_visible(counter: Counter) -> None:
    order = await counter.order()
    sheet = await counter.link(order)
    async with counter.desk.database.transaction() as session:
        payment = await session.get_one(type(sheet.payment), sheet.payment.id)
        raise_on(payment, "a cause", Said("Compare it with the <portal>."), counter.desk.now())
    shown = await counter.see(order.id)
    assert "Compare it with the <portal>." in text(shown)
    assert 'class="badge bad"' in shown.text


@one_database
async def test_the_widget_speaks_ukrainian(counter: Counter) -> None:
    order = await counter.order()
    answer = await counter.http.post(WIDGET, data=counter.form(order.id), headers={"Accept-Language": "uk-UA"})
    assert answer.headers["content-language"] == "uk"
    assert "За це замовлення залишилося сплатити 569,50 UAH." in text(answer).replace("\xa0", " ")


@one_database
async def test_a_form_after_five_minutes_is_told_to_reload(counter: Counter) -> None:
    order = await counter.order()
    form = counter.form(order.id, amount="1.00")
    counter.clock.forward(seconds=306)
    answer = await counter.http.post(f"{WIDGET}/link", data=form)
    assert "This page has been open for too long: reload it in the Saleor Dashboard." in text(answer, 401)
    assert await counter.saleor.transactions() == []


@one_database
async def test_nothing_of_it_is_kept_framed_elsewhere_or_sent_elsewhere(counter: Counter) -> None:
    answer = await counter.see((await counter.order()).id)
    policy = answer.headers["content-security-policy"]
    assert "form-action 'self'; frame-ancestors https: http://localhost:* http://127.0.0.1:*" in policy
    assert "script-src 'self';" in policy
    assert "unsafe" not in policy
    assert answer.headers["cache-control"] == "no-store"
    assert answer.headers["referrer-policy"] == "no-referrer"
    assert "set-cookie" not in answer.headers
    assert " on" not in re.sub(r">[^<]*<", "><", answer.text)  # no script in attributes


@one_database
@pytest.mark.parametrize("body", [b"\xff", b"a=1&" * 40, b"orderId=" + b"x" * 30_000])
async def test_what_is_no_form_of_a_browser(counter: Counter, body: bytes) -> None:
    headers = {"Content-Type": "application/x-www-form-urlencoded"}
    answer = await counter.http.post(WIDGET, content=body, headers=headers)
    assert "This form cannot be read." in text(answer, 400)
