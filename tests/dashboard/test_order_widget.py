"""The widget on an order's page: what staff see of its payments, and links to pay it."""

import re
from datetime import timedelta
from decimal import Decimal
from html import unescape

import httpx2
import pytest

from app.core.vocabulary import Kind, State
from app.rules.problems import UNREADABLE
from app.store.accounts import AccountKeys, NewAccount
from app.store.tables import MerchantAccount
from integration_base_tests.waiting import eventually
from saleor_app_sdk import orders
from saleor_app_sdk.testing import NewCheckout
from tests.commands.conftest import one_database
from tests.dashboard.dashboard_app import OTHER_STORE, StaffClient, other_store
from tests.dashboard.order_page_stack import WIDGET, OrderPageStack
from tests.payments.fake_gateway import BROKEN, refusal_reply
from tests.payments.problems import issue_saying, raise_problem
from tests.payments.second_account import SECOND_POS
from tests.payments.shop import run_concurrently

KEYS = AccountKeys(api_key="second-key", api_secret="second-secret", endpoints_key="second-endpoints")


def text(answer: httpx2.Response, status: int = 200) -> str:
    """Return what is read in the widget, in one line."""
    assert answer.status_code == status, answer.text
    return " ".join(unescape(re.sub(r"<[^>]*>", " ", answer.text)).split())


def field(answer: httpx2.Response, name: str) -> str:
    """Return the value of a field of the widget's forms."""
    found = re.search(rf'name="{name}" value="([^"]*)"', answer.text)
    assert found is not None, answer.text
    return unescape(found[1])


async def second_account(stack: OrderPageStack) -> MerchantAccount:
    """Add another account of the store, which no channel leads to yet."""
    installation = await stack.services.installations.find(stack.saleor.api_url)
    assert installation is not None
    return await stack.services.accounts.add(
        NewAccount(
            installation_id=installation.id,
            name="Second",
            pos_id=SECOND_POS,
            base_url=stack.gateway.url,
            scheme_word="CPAY",
            keys=KEYS,
            currencies=["UAH"],
            storefront_origins=[],
        )
    )


async def test_an_order_that_nobody_has_paid(stack: OrderPageStack) -> None:
    shown = await stack.see((await stack.order()).id)
    assert "No payment for this order has gone through this app yet." in text(shown)
    assert "569.50 UAH is left to pay on this order. You can request less." in text(shown)
    assert field(shown, "amount") == "569.50"


async def test_a_payment_of_the_checkout_that_became_the_order(stack: OrderPageStack) -> None:
    stack.gateway.will_answer(stack.gateway.page())
    checkout = await stack.saleor.create_checkout()
    session = await stack.saleor.initialize(checkout.id)
    (aggregate,) = await stack.aggregates_of(session.required_transaction.id)
    order_id = aggregate.payment.order_id
    await stack.pays(aggregate)
    await stack.work()
    order = (await stack.saleor.complete(checkout.id)).order
    assert order is not None

    shown = await stack.see(order.id)

    assert "569.50 UAH paid" in text(shown)
    assert "There is nothing left to pay on this order." in text(shown)
    assert "Create payment link" not in text(shown)
    assert f'href="/payments/{order_id}?saleorApiUrl=http' in shown.text


async def test_a_link_is_made_by_saleors_own_way_and_shown(stack: OrderPageStack) -> None:
    order = await stack.order()
    before = await stack.see(order.id)
    stack.gateway.will_answer(stack.gateway.page())

    made = await stack.see(order.id, "/link", amount=field(before, "amount"), attempt=field(before, "attempt"))

    assert "The link is ready: send it to the customer." in text(made)
    assert "569.50 UAH waiting for the shopper" in text(made)
    (transaction,) = await stack.saleor.transactions()
    assert transaction.order_id == order.id
    assert transaction.event_types() == ["CHARGE_REQUEST", "CHARGE_ACTION_REQUIRED"]
    (aggregate,) = await stack.payments(order)
    assert (aggregate.payment.transaction_id, aggregate.payment.order_number) == (transaction.id, order.number)
    assert f'readonly value="{stack.url}/pay/{aggregate.payment.order_id}"' in made.text
    assert f'src="/pay/{aggregate.payment.order_id}.svg"' in made.text

    await stack.pays(aggregate)
    assert "569.50 UAH paid" in text(await stack.see(order.id))


async def test_payment_link_form_offers_languages_and_begins_with_the_orders(stack: OrderPageStack) -> None:
    ukrainian = await stack.see((await stack.order(NewCheckout(language_code="UK"))).id)
    assert re.findall(r'<option value="(\w+)" lang="\w+"( selected)?>(\w+)<', ukrainian.text) == [
        ("en", "", "English"),
        ("uk", " selected", "Українська"),
    ]
    polish = await stack.see((await stack.order(NewCheckout(language_code="PL"))).id)
    assert '<option value="pl" lang="pl" selected>Polski<' in polish.text


@one_database
async def test_payment_link_in_chosen_language_is_ukrainian_for_an_english_order(stack: OrderPageStack) -> None:
    order = await stack.order()
    form = {name: field(await stack.see(order.id), name) for name in ("amount", "attempt")}
    stack.gateway.will_answer(stack.gateway.page())
    await stack.see(order.id, "/link", **form, language="uk")

    (aggregate,) = await stack.payments(order)
    assert aggregate.payment.language == "uk"
    assert stack.gateway.requests[-1].json["customer_lang"] == "UK"
    browser = {"Accept-Language": "en"}
    page = await stack.http.get(f"/pay/{aggregate.payment.order_id}", headers=browser)
    assert '<html lang="uk">' in page.text


@one_database
async def test_payment_link_in_another_language_replaces_the_open_one(stack: OrderPageStack) -> None:
    order = await stack.order()
    form = {name: field(await stack.see(order.id), name) for name in ("amount", "attempt")}
    for language, page in (("uk", "c0ffee"), ("en", "decade")):
        stack.gateway.will_answer(stack.gateway.page(page))
        await stack.see(order.id, "/link", **form, language=language)

    assert {aggregate.payment.language for aggregate in await stack.payments(order)} == {"uk", "en"}


async def test_the_accounts_name_is_told_where_the_store_has_two(stack: OrderPageStack) -> None:
    order = await stack.order()
    await stack.link(order)
    assert "Main" not in text(await stack.see(order.id))
    await second_account(stack)
    assert "UTC · Main" in text(await stack.see(order.id))


async def test_sending_the_same_form_again_gives_the_same_link(stack: OrderPageStack) -> None:
    order = await stack.order()
    form = {name: field(await stack.see(order.id), name) for name in ("amount", "attempt")}
    stack.gateway.will_answer(stack.gateway.page())

    twice = await run_concurrently(*(stack.see(order.id, "/link", **form) for _ in range(2)))
    again = await stack.see(order.id, "/link", **form)

    (transaction,) = await stack.saleor.transactions()
    (aggregate,) = await stack.payments(order)
    assert aggregate.payment.transaction_id == transaction.id
    assert stack.gateway.calls == ["payment"]
    assert f"/pay/{aggregate.payment.order_id}" in again.text
    # Of two at the same moment the slower may be told to look again, but never gets another link.
    assert min(answer.status_code for answer in twice) == 200
    assert all("/pay/" not in answer.text or aggregate.payment.order_id in answer.text for answer in twice)


async def test_a_part_is_paid_by_link_and_then_the_rest(stack: OrderPageStack) -> None:
    order = await stack.order()
    part = await stack.link(order, "100,5")
    assert part.payment.amount == Decimal("100.50")
    await stack.pays(part)

    shown = await stack.see(order.id)
    assert field(shown, "amount") == "469.00"  # though Saleor has not heard of the payment yet
    rest = await stack.link(order, "469.00", "another")
    await stack.pays(rest)
    assert "There is nothing left to pay on this order." in text(await stack.see(order.id))


@one_database
@pytest.mark.parametrize(
    ("currency", "typed", "words"),
    [("KWD", "10.250", ""), ("KWD", "1,000.500", "569.50 KWD is left to pay"), ("JPY", "100.00", ""),
     ("JPY", "10.50", "have no decimals")],
)  # fmt: skip
async def test_a_link_is_over_what_is_typed_in_the_currency_of_its_order(
    stack: OrderPageStack, currency: str, typed: str, words: str
) -> None:
    (account,) = await stack.services.accounts.all()
    await stack.services.accounts.change(account.id, currencies=[currency])
    order = await stack.order(NewCheckout(currency=currency))
    if not words:
        assert (await stack.link(order, typed)).payment.amount == Decimal(typed)
        return
    refused = await stack.see(order.id, "/link", amount=typed)
    assert (refused.status_code, words in refused.text) == (422, True)
    assert await stack.payments(order) == []


async def test_a_link_over_another_amount_takes_the_place_of_the_first(stack: OrderPageStack) -> None:
    order = await stack.order()
    first = await stack.link(order)
    second = await stack.link(order, "100.00", "another")
    first, second = await stack.payments(order)
    assert [operation.kind for operation in first.operations] == [Kind.CREATE, Kind.CANCEL]
    assert second.create.state is State.INIT
    shown = await stack.see(order.id)
    assert f"/pay/{second.payment.order_id}.svg" in shown.text
    assert f"/pay/{first.payment.order_id}.svg" not in shown.text


async def test_a_link_of_the_account_before_is_not_given_out_once_its_channel_has_moved(stack: OrderPageStack) -> None:
    """The account before may be a test project: whoever paid there would get the goods for nothing."""
    order = await stack.order()
    await stack.link(order)
    second = await second_account(stack)
    await stack.services.accounts.map_channel("uah", second.id)

    await stack.link(order, page="another")

    older, newer = await stack.payments(order)
    assert newer.payment.account_id == second.id != older.payment.account_id
    assert [operation.kind for operation in older.operations] == [Kind.CREATE, Kind.CANCEL]
    again = await stack.see(order.id, "/link", amount="569.50")
    assert f"/pay/{newer.payment.order_id}.svg" in again.text
    assert stack.gateway.calls == ["payment", "payment"]


@one_database
async def test_a_link_over_more_than_is_left_is_told(stack: OrderPageStack) -> None:
    order = await stack.order()
    await stack.link(order)
    words = "This link is for more than is left to pay on this order. Close it."
    assert words not in text(await stack.see(order.id))
    stack.running.engine.state.order(order.id).basket.gift_cards = Decimal("100.00")
    assert words in text(await stack.see(order.id))
    await stack.saleor.set_faults(graphql_status=503)
    assert words not in text(await stack.see(order.id))  # nobody knows


@one_database
async def test_a_link_that_saleor_was_too_slow_with_is_the_same_when_asked_again(
    stack: OrderPageStack, monkeypatch: pytest.MonkeyPatch
) -> None:
    order = await stack.order()
    form = {name: field(await stack.see(order.id), name) for name in ("amount", "attempt")}
    stack.gateway.will_answer(stack.gateway.page())
    monkeypatch.setattr(orders, "_INITIALIZE_TIMEOUT", timedelta(seconds=0.2))
    await stack.saleor.set_faults(graphql_delay=0.5, graphql_times=2)

    slow = await stack.see(order.id, "/link", **form)
    assert "The link may still have been created" in text(slow, 422)

    monkeypatch.undo()
    await eventually(lambda: stack.payments(order))
    again = await stack.see(order.id, "/link", **form)
    assert "The link is ready" in text(again)
    assert len(await stack.saleor.transactions()) == 1
    assert stack.gateway.calls == ["payment"]


async def test_a_link_is_closed_and_the_same_form_closes_it_once(stack: OrderPageStack) -> None:
    order = await stack.order()
    aggregate = await stack.link(order)
    form = {name: field(await stack.see(order.id), name) for name in ("payment", "key")}
    stack.gateway.will_answer(stack.closed(aggregate))

    closed = await stack.see(order.id, "/close", **form)

    assert "The payment was cancelled, and its payment page is closed." in text(closed)
    assert "569.50 UAH cancelled" in text(closed)
    assert "/pay/" not in closed.text
    assert text(await stack.see(order.id, "/close", **form)) == text(closed)
    assert stack.gateway.calls == ["payment", "cancel"]
    await stack.work()
    (transaction,) = await stack.saleor.transactions()
    assert "Staff cancelled the payment in the app" in transaction.event("CHARGE_FAILURE").message

    again = await stack.link(order, "569.50", "another")
    assert again.payment.order_id != aggregate.payment.order_id


@one_database
async def test_a_link_that_was_paid_meanwhile_is_not_closed(stack: OrderPageStack) -> None:
    order = await stack.order()
    aggregate = await stack.link(order)
    form = {name: field(await stack.see(order.id), name) for name in ("payment", "key")}
    await stack.pays(aggregate)
    refusal = await stack.see(order.id, "/close", **form)
    assert "569.50 UAH paid" in text(refusal, 422)
    for strange in ({"payment": "of-nobody", "key": "0" * 32}, {"payment": aggregate.payment.order_id, "key": "x"}, {}):
        assert 'role="alert"' in (await stack.see(order.id, "/close", **strange)).text
    assert stack.gateway.calls == ["payment"]


@pytest.mark.threat("staff-of-another-store")
@one_database
async def test_staff_of_another_store_close_no_page_of_this_one(staff_client: StaffClient) -> None:
    shop = staff_client.shop
    shop.gateway.will_answer(shop.gateway.page())
    await shop.begin()
    await other_store(shop)
    theirs = {
        "saleorApiUrl": OTHER_STORE,
        "accessToken": staff_client.token(iss=OTHER_STORE),
        "orderId": "T3JkZXI6MQ==",
    }
    closing = {"payment": shop.order_id, "key": "0" * 32}
    answer = await staff_client.http.post(f"{WIDGET}/close", data=theirs | closing)
    assert "There is no such payment." in text(answer, 422)
    assert shop.gateway.calls == ["payment"]
    assert [operation.kind for operation in (await shop.aggregate()).operations] == [Kind.CREATE]


@pytest.mark.parametrize("refunded", ["69.50", "569.50"])
async def test_what_was_refunded_can_be_requested_again(stack: OrderPageStack, refunded: str) -> None:
    order = await stack.order()
    aggregate = await stack.link(order)
    await stack.pays(aggregate)
    await stack.work()
    assert "There is nothing left to pay" in text(await stack.see(order.id))
    stack.refunds(aggregate, refunded)
    await stack.saleor.refund(aggregate.payment.transaction_id, Decimal(refunded))
    await stack.saleor.wait_for_background()
    assert f"{refunded} UAH is left to pay on this order" in text(await stack.see(order.id))
    another = await stack.link(order, refunded)
    assert another.payment.amount == Decimal(refunded)
    assert another.payment.order_id != aggregate.payment.order_id


async def test_what_staff_granted_to_refund_is_not_requested_again(stack: OrderPageStack) -> None:
    order = await stack.order()
    aggregate = await stack.link(order)
    await stack.pays(aggregate)
    await stack.work()
    transaction_id = aggregate.payment.transaction_id
    grant = await stack.saleor.grant_refund(order.id, Decimal("569.50"), transaction_id=transaction_id)
    assert grant.granted_refund is not None
    stack.refunds(aggregate, "569.50")
    await stack.saleor.request_refund_for_granted_refund(grant.granted_refund.id)
    await stack.saleor.wait_for_background()
    assert "569.50 UAH refunded" in text(await stack.see(order.id))
    assert "There is nothing left to pay" in text(await stack.see(order.id))


@one_database
@pytest.mark.parametrize(
    ("typed", "words"),
    [
        ("569.51", "569.50 UAH is left to pay for this order: request no more."),
        ("0", "the amount is zero"),
        ("1,000", "Enter amounts like 1234.50."),
        ("-1", "Enter amounts like"),
        ("", "Enter amounts like"),
    ],
)
async def test_an_amount_that_cannot_be_asked_for(stack: OrderPageStack, typed: str, words: str) -> None:
    order = await stack.order()
    answer = await stack.see(order.id, "/link", amount=typed)
    assert words in text(answer, 422)
    assert await stack.saleor.transactions() == []


@one_database
async def test_nobody_is_asked_to_pay_a_cancelled_or_paid_order(stack: OrderPageStack) -> None:
    cancelled, paid = await stack.order(), await stack.order()
    await stack.saleor.cancel_order(cancelled.id)
    await stack.pays(await stack.link(paid))
    begun = len(await stack.saleor.transactions())
    nothing = await stack.see(cancelled.id)
    assert "it was cancelled: you cannot request a payment for it" in text(nothing)
    assert nothing.text.count("<p") == 1, "one quiet line, where another gateway may have the payments"
    for order, words in (
        (cancelled, "This order cannot be paid"),
        (paid, "There is nothing left to pay on this order."),
    ):
        answer = await stack.see(order.id, "/link", amount="1.00")
        assert words in text(answer, 422)
    assert len(await stack.saleor.transactions()) == begun


@one_database
async def test_why_there_is_no_link_is_said_in_words(stack: OrderPageStack) -> None:
    nameless = await stack.order(NewCheckout(address={"phone": ""}))
    answer = await stack.see(nameless.id, "/link", amount="1.00")
    words = "The order has no phone number, which the gateway needs: add it to the order"
    assert words in text(answer, 422)

    foreign = await stack.order(NewCheckout(channel_slug="<b>%s"))
    answer = await stack.see(foreign.id, "/link", amount="1.00")
    assert "The operation failed: Payments are not set up for the sales channel '<b>%s'" in text(answer, 422)
    assert "&lt;b&gt;%s" in answer.text

    order = await stack.order()
    stack.gateway.will_answer(refusal_reply("Amount is out of limits", "P-422"))
    answer = await stack.see(order.id, "/link", amount="1.00")
    assert "Amount is out of limits" in text(answer, 422)
    assert "1.00 UAH failed" in text(answer, 422)

    stack.gateway.will_answer(BROKEN)
    answer = await stack.see(order.id, "/link", amount="2.00")
    assert "The address of the payment page was lost with the gateway's response" in text(answer, 422)


@one_database
async def test_saleor_is_away(stack: OrderPageStack) -> None:
    order = await stack.order()
    aggregate = await stack.link(order)
    await stack.saleor.set_faults(graphql_status=503)
    shown = await stack.see(order.id)
    assert "This order could not be loaded from Saleor." in text(shown)
    assert f"/pay/{aggregate.payment.order_id}.svg" in shown.text
    assert "Create payment link" not in text(shown)
    answer = await stack.see(order.id, "/link", amount="1.00")
    assert "The order could not be loaded from Saleor: try again in a minute." in text(answer, 422)


@one_database
async def test_payment_of_an_order_that_saleor_does_not_show_is_not_denied(stack: OrderPageStack) -> None:
    """Only Saleor can tell that the money of this order was reserved on its checkout: nobody must take it again."""
    checkout = await stack.saleor.create_checkout()
    stack.gateway.will_answer(stack.gateway.page())
    begun = await stack.saleor.initialize(checkout.id)
    [aggregate] = await stack.aggregates_of(begun.required_transaction.id)
    await stack.pays(aggregate)
    await stack.work()
    completion = await stack.saleor.complete(checkout.id)
    assert completion.order is not None, completion.errors
    assert "paid" in text(await stack.see(completion.order.id))
    await stack.saleor.set_faults(graphql_status=503)
    shown = await stack.see(completion.order.id)
    assert "This order could not be loaded from Saleor." in text(shown)
    assert "No payment for this order" not in text(shown)
    assert "data-every" in shown.text


@one_database
async def test_an_order_that_is_none(stack: OrderPageStack) -> None:
    for order_id in ("garbage", "T3JkZXI6MDAwMDAwMDAtMDAwMC00MDAwLTgwMDAtMDAwMDAwMDAwMDAw"):
        assert "This order was not found in Saleor." in text(await stack.see(order_id))
        assert "This order was not found in Saleor." in text(await stack.see(order_id, "/link", amount="1"), 422)
    assert "did not identify the order" in text(await stack.see(""), 400)
    assert "did not identify the order" in text(await stack.see("x" * 201), 400)


@one_database
async def test_problems_are_visible(stack: OrderPageStack) -> None:
    order = await stack.order()
    aggregate = await stack.link(order)
    issue = issue_saying("Compare it with the <portal>.")
    await raise_problem(stack.services.database, aggregate.payment, UNREADABLE, issue, stack.services.now())
    shown = await stack.see(order.id)
    assert "Compare it with the <portal>." in text(shown)
    assert 'class="badge warn"' in shown.text


@one_database
async def test_the_widget_speaks_ukrainian(stack: OrderPageStack) -> None:
    order = await stack.order()
    answer = await stack.http.post(WIDGET, data=stack.form(order.id), headers={"Accept-Language": "uk-UA"})
    assert answer.headers["content-language"] == "uk"
    assert "За це замовлення залишилося сплатити 569,50 UAH." in text(answer).replace("\xa0", " ")


@one_database
async def test_a_form_after_five_minutes_is_told_to_reload(stack: OrderPageStack) -> None:
    order = await stack.order()
    form = stack.form(order.id, amount="1.00")
    stack.clock.forward(seconds=306)
    answer = await stack.http.post(f"{WIDGET}/link", data=form)
    assert "This page has been open for too long: reload it in the Saleor Dashboard." in text(answer, 401)
    assert await stack.saleor.transactions() == []


@pytest.mark.threat("csrf", "clickjacking")
@one_database
async def test_nothing_of_it_is_kept_framed_elsewhere_or_sent_elsewhere(stack: OrderPageStack) -> None:
    answer = await stack.see((await stack.order()).id)
    policy = answer.headers["content-security-policy"]
    assert "form-action 'self'; frame-ancestors https: http://localhost:* http://127.0.0.1:*" in policy
    assert "script-src 'self';" in policy
    assert "unsafe" not in policy
    assert answer.headers["cache-control"] == "no-store, no-transform"
    assert answer.headers["referrer-policy"] == "no-referrer"
    assert "set-cookie" not in answer.headers
    assert " on" not in re.sub(r">[^<]*<", "><", answer.text)  # no script in attributes


@one_database
@pytest.mark.parametrize("body", [b"\xff", b"a=1&" * 40, b"orderId=" + b"x" * 30_000])
async def test_what_is_no_form_of_a_browser(stack: OrderPageStack, body: bytes) -> None:
    headers = {"Content-Type": "application/x-www-form-urlencoded"}
    answer = await stack.http.post(WIDGET, content=body, headers=headers)
    assert "This form cannot be read." in text(answer, 400)
