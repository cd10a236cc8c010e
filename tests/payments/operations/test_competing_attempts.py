"""Who begins to pay anew leaves an older page behind, and nobody pays the same thing twice."""

from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from app.core.payment import row_id_of
from app.core.vocabulary import Kind, State
from app.rules.decisions.competing_attempts import Attempt, pages_to_close
from integration_base_tests.loopback import HangUp, ReceivedRequest, json_reply
from saleor_app_sdk.testing.records import Transaction
from tests.payments.fake_gateway import action_of, payment, refusal_reply
from tests.payments.fake_saleor import amounts
from tests.payments.shop import Shop, run_concurrently, source_object

TOTAL = Decimal(100)
REPLACED = "A newer payment attempt has replaced this one, and the payment page was closed [6007]"


def basket(total: object = TOTAL, **changed: Any) -> dict[str, Any]:
    """Return a checkout over that total."""
    return source_object(totalPrice={"gross": {"amount": Decimal(str(total)), "currency": "UAH"}}, **changed)


def listed(transaction: Transaction, **covered: object) -> dict[str, Any]:
    """Return a transaction as its checkout or order lists it."""
    covering = {name: {"amount": Decimal(str(amount)), "currency": "UAH"} for name, amount in covered.items()}
    return {"id": transaction.id, **covering}


def another(shop: Shop) -> Shop:
    """The same shop, with one more attempt to pay the same checkout."""
    return replace(shop, transaction=shop.saleor.new_transaction())


async def opened(shop: Shop, amount: object = TOTAL, **said_of_it: Any) -> Shop:
    """Open a page in the shop, over that amount of a basket over 100.00."""
    shop.gateway.will_answer(shop.gateway.page(shop.order_id))
    answer = await shop.begin(amount=amount, **({"sourceObject": basket()} | said_of_it))
    assert answer.data["checkoutUrl"]
    shop.gateway.book[shop.order_id] = [payment(shop.order_id, "init", amount)]
    return shop


def closes(shop: Shop, *others: Shop) -> None:
    """The gateway will close those pages when it is asked."""
    for closed in (shop, *others):
        [record] = closed.gateway.book[closed.order_id]
        record |= {"status": "failure", "status_code": "6007"}
        closed.gateway.will_answer(json_reply([record]))


class TestANewAttempt:
    async def test_closes_the_older_page(self, shop: Shop) -> None:
        await opened(shop)
        await opened(another(shop))
        assert shop.gateway.calls == ["payment", "payment"]  # the shopper who is answered waits for no closing
        closes(shop)
        await shop.work()
        assert shop.gateway.calls == ["payment", "payment", "cancel"]
        assert shop.gateway.requests[-1].path.split("/")[-2] == shop.order_id
        report = next(report for report in shop.saleor.reports if report.type == "CHARGE_FAILURE")
        assert (report.transaction_id, report.message) == (shop.transaction.id, REPLACED)
        assert shop.transaction.actions == []
        back = await shop.process_session()
        assert back.data["errors"][0]["code"] == "6007"

    async def test_leaves_its_own_page_open(self, shop: Shop) -> None:
        await opened(shop)
        new = await opened(another(shop))
        closes(shop)
        await shop.pass_time(minutes=30)
        assert new.transaction.actions == ["CANCEL"]
        assert (await new.operation(Kind.CREATE)).state is State.INIT

    async def test_of_an_order_that_was_made_of_the_checkout_closes_the_checkouts_page(self, shop: Shop) -> None:
        """The order has another id, but Saleor moves the transactions to it and lists them."""
        await opened(shop)
        order = basket(__typename="Order", id="T3JkZXI6MQ==", number="7", transactions=[listed(shop.transaction)])
        await opened(another(shop), sourceObject=order)
        closes(shop)
        await shop.work()
        assert shop.gateway.calls.count("cancel") == 1

    async def test_that_is_refused_closes_nothing(self, shop: Shop) -> None:
        await opened(shop)
        shop.gateway.will_answer(refusal_reply("Invalid amount provided", "P-400"))
        await another(shop).begin(amount=TOTAL, sourceObject=basket())
        await shop.work()
        assert shop.gateway.calls == ["payment", "payment"]

    @pytest.mark.law(12)
    async def test_closes_nothing_before_somebody_can_pay_on_it(self, shop: Shop) -> None:
        """The gateway notifies us of the new page, and then its answer gets lost: the older page is all there is."""
        await opened(shop)
        new = another(shop)

        async def notify(request: ReceivedRequest) -> None:
            if action_of(request) == "payment":
                await new.notify(payment(new.order_id, "init", TOTAL))
                await new.work()

        shop.gateway.on_request = notify
        shop.gateway.will_answer(HangUp())
        await new.begin(amount=TOTAL, sourceObject=basket())
        shop.gateway.will_answer(json_reply([payment(new.order_id, "failure", TOTAL, status_code="6007")]))
        await shop.pass_time(minutes=1)
        assert shop.gateway.calls == ["payment", "payment", "cancel"]
        assert (await shop.operation(Kind.CREATE)).state is State.INIT
        assert (await new.operation(Kind.CREATE)).state is State.FAILURE

    async def test_closes_nothing_when_the_store_does_not_want_it(self, shop: Shop) -> None:
        shop.account = await shop.services.accounts.change(shop.account.id, cancel_older=False)
        await opened(shop)
        await opened(another(shop))
        await shop.work()
        assert "cancel" not in shop.gateway.calls

    async def test_closes_nothing_when_saleor_does_not_say_the_total(self, shop: Shop) -> None:
        await opened(shop)
        await opened(another(shop), sourceObject=source_object())
        await shop.work()
        assert "cancel" not in shop.gateway.calls

    async def test_of_another_checkout_closes_nothing(self, shop: Shop) -> None:
        await opened(shop)
        await opened(another(shop), sourceObject=basket(id="Q2hlY2tvdXQ6Mg=="))
        await shop.work()
        assert "cancel" not in shop.gateway.calls

    @pytest.mark.law(4)
    async def test_asked_for_again_closes_nothing_again(self, shop: Shop) -> None:
        await opened(shop)
        new = await opened(another(shop))
        closes(shop)
        await shop.work()
        again = await new.begin(amount=TOTAL, sourceObject=basket())
        await shop.work()
        assert again.data["checkoutUrl"]
        assert shop.gateway.calls == ["payment", "payment", "cancel"]

    @pytest.mark.law(3)
    async def test_two_at_once_leave_one_page(self, shop: Shop) -> None:
        """Whichever opens last sees the other; the one that was begun last stays."""
        one, other = shop, another(shop)
        for begun in (one, other):
            shop.gateway.will_answer(shop.gateway.page(begun.order_id))
        await run_concurrently(*(shop.begin(amount=TOTAL, sourceObject=basket()) for shop in (one, other)))
        states = [(await shop.aggregate()).operations for shop in (one, other)]
        closing = [operation for operations in states for operation in operations if operation.kind is Kind.CANCEL]
        assert [operation.state for operation in closing] == [State.WAITING]
        older = min([await begun.aggregate() for begun in (one, other)], key=lambda found: row_id_of(found.payment))
        assert [operation.id for operation in older.operations if operation.kind is Kind.CANCEL] == [closing[0].id]


class TestPartsOfOnePayment:
    async def test_may_be_paid_side_by_side(self, shop: Shop) -> None:
        await opened(shop, 60)
        await opened(another(shop), 40)
        await shop.work()
        assert "cancel" not in shop.gateway.calls

    async def test_the_same_part_once_more_replaces_that_part_only(self, shop: Shop) -> None:
        first, second = await opened(shop, 60), await opened(another(shop), 40)
        await opened(another(shop), 40)
        closes(second)
        await shop.work()
        assert shop.gateway.calls.count("cancel") == 1
        assert (await first.operation(Kind.CREATE)).state is State.INIT
        assert (await second.operation(Kind.CREATE)).state is State.FAILURE

    async def test_what_is_paid_already_leaves_less_to_pay(self, shop: Shop) -> None:
        await opened(shop, 60)
        await shop.notify(payment(shop.order_id, amount=60))
        await shop.work()
        rest = await opened(another(shop), 40)
        await opened(another(shop), 40)
        closes(rest)
        await shop.work()
        assert (await rest.operation(Kind.CREATE)).state is State.FAILURE

    async def test_so_does_what_others_hold(self, shop: Shop) -> None:
        """A gift card of 60.00, say: Saleor lists it, and it is none of ours."""
        gift = listed(shop.saleor.new_transaction(), chargedAmount=30, authorizePendingAmount=30)
        await opened(shop, 40)
        await opened(another(shop), 40, sourceObject=basket(transactions=[gift, listed(shop.transaction)]))
        closes(shop)
        await shop.work()
        assert (await shop.operation(Kind.CREATE)).state is State.FAILURE


class TestAnOlderPageThatIsBeingPaid:
    @pytest.mark.law(12)
    async def test_is_not_cancelled_and_told_as_paid(self, shop: Shop) -> None:
        await opened(shop)
        await opened(another(shop))
        shop.gateway.book[shop.order_id] = [payment(shop.order_id, amount=TOTAL)]  # in this very second
        shop.gateway.will_answer(
            refusal_reply("Invalid operation", "4150"), *[refusal_reply("Invalid operation", "4150")] * 9
        )
        await shop.pass_time(minutes=1)
        shop.gateway.script.clear()
        assert shop.amounts == amounts(charged="100.00")
        assert {"CHARGE_SUCCESS", "INFO"} == set(shop.saleor.reported_types)  # the cancellation fails quietly
        assert (await shop.operation(Kind.CANCEL)).state is State.FAILURE

    @pytest.mark.law(12)
    async def test_has_been_paid_before_the_cancellation_was_sent(self, shop: Shop) -> None:
        """Then it is the newer page that is closed."""
        await opened(shop)
        newer = await opened(another(shop))
        await shop.notify(payment(shop.order_id, amount=TOTAL))
        closes(newer)
        await shop.work()
        assert shop.gateway.calls == ["payment", "payment", "cancel"]
        assert shop.gateway.requests[-1].path.split("/")[-2] == newer.order_id
        assert shop.amounts == amounts(charged="100.00")

    @pytest.mark.law(2)
    async def test_a_closing_whose_outcome_is_not_known_is_looked_up(self, shop: Shop) -> None:
        await opened(shop)
        await opened(another(shop))
        shop.gateway.will_answer(HangUp())
        await shop.work()
        [record] = shop.gateway.book[shop.order_id]
        record |= {"status": "failure", "status_code": "6007"}
        await shop.pass_time(minutes=2)
        assert shop.gateway.calls.count("cancel") == 1
        assert next(report for report in shop.saleor.reports if report.type == "CHARGE_FAILURE").message == REPLACED

    @pytest.mark.law(3)
    async def test_waits_for_the_cancellation_of_staff(self, shop: Shop) -> None:
        """What staff have asked for is enough."""
        await opened(shop)
        shop.gateway.will_answer(HangUp())
        await shop.request_action("CANCEL")
        await opened(another(shop))
        await shop.work()
        assert shop.gateway.calls == ["payment", "cancel", "payment"]

    @pytest.mark.law(1)
    async def test_when_the_call_arrives_the_intent_is_in_the_database(self, shop: Shop) -> None:
        seen: list[State] = []

        async def look_into_the_database(request: ReceivedRequest) -> None:
            if action_of(request) == "cancel":
                seen.append((await shop.operation(Kind.CANCEL)).state)

        await opened(shop)
        await opened(another(shop))
        shop.gateway.on_request = look_into_the_database
        closes(shop)
        await shop.work()
        assert seen == [State.INTENT]


CENT = Decimal("0.01")
cents = st.integers(1, 20000).map(lambda cents: Decimal(cents) / 100)
attempts = st.lists(
    st.builds(
        Attempt, number=st.integers(1, 50), amount=cents, open=st.booleans(), covered=st.just(Decimal(0)) | cents
    ),
    unique_by=lambda attempt: attempt.number,
    max_size=8,
)


class TestTheRule:
    @pytest.mark.law(3)
    @example(  # what is closed has covered a part, which nobody is to pay again
        [Attempt(1, 145 * CENT, open=True, covered=CENT), Attempt(2, CENT, open=True), Attempt(3, CENT, open=True)],
        2 * CENT,
    )
    @given(attempts, cents)
    def test_what_stays_open_can_be_paid_together(self, known: list[Attempt], to_pay: Decimal) -> None:
        closing = pages_to_close(known, to_pay)
        staying = [attempt for attempt in known if attempt.open and attempt.number not in closing]
        covered = sum(attempt.covered for attempt in known)
        assert not staying or sum(attempt.amount for attempt in staying) <= to_pay - covered

    @given(attempts, cents)
    def test_only_open_pages_are_closed_and_the_newest_only_if_it_asks_for_more_than_is_left(
        self, known: list[Attempt], to_pay: Decimal
    ) -> None:
        closing = pages_to_close(known, to_pay)
        alive = [attempt for attempt in known if attempt.open or attempt.covered]
        assert len(closing) == len(set(closing))
        assert set(closing) <= {attempt.number for attempt in known if attempt.open}
        if alive:
            newest = max(alive, key=lambda attempt: attempt.number)
            covered = sum(attempt.covered for attempt in known)
            assert newest.number not in closing or newest.amount > to_pay - covered

    @given(attempts, cents)
    def test_what_fits_is_left_alone(self, known: list[Attempt], more: Decimal) -> None:
        asked = sum((attempt.amount for attempt in known if attempt.open), Decimal(0))
        covered = sum((attempt.covered for attempt in known), Decimal(0))
        assert pages_to_close(known, asked + covered + more) == []

    @pytest.mark.parametrize(
        ("pages", "closed"),
        [
            (["100", "100"], [1]),
            (["60", "40"], []),
            (["60", "40", "40"], [2]),
            (["40", "60", "60"], [2]),
            (["60", "40", "50"], [1]),
            (["60", "40", "100"], [1, 2]),
            (["50", "50", "50"], [1]),
            (["100"], []),
            (["100.01"], [1]),  # though nothing is newer
            (["100.01", "60", "40"], [1]),
        ],
    )
    def test_examples_of_a_basket_over_100(self, pages: list[str], closed: list[int]) -> None:
        known = [Attempt(number, Decimal(amount), open=True) for number, amount in enumerate(pages, 1)]
        assert pages_to_close(known, Decimal(100)) == closed
