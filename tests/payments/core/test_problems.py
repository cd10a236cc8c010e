"""A problem is there as long as its cause is, and no longer; what only a person can judge, a person takes away."""

import pytest

from app.db.tables import Flow, Kind, Payment, State
from app.i18n.messages import LazyMessage
from app.payments.core.problems import KEYS, KEYS_REFUSED, acknowledge, clear, of_words, open_problems, raise_on
from tests.payments.aggregates import NOON, an_aggregate
from tests.payments.fake_gateway import Reply, operation, payment, refused, said
from tests.payments.shop import Shop

AMOUNT, CURRENCY = LazyMessage("The amount differs."), LazyMessage("The currency differs.")


def a_payment() -> Payment:
    return an_aggregate(Flow.CHARGE, State.SUCCESS).payment


class TestOnPaper:
    def test_several_at_once_and_each_goes_with_its_cause(self) -> None:
        it = a_payment()
        raise_on(it, of_words(AMOUNT, "1"), AMOUNT, NOON)
        raise_on(it, KEYS, KEYS_REFUSED, NOON)
        assert it.problem == f"The amount differs.\n{KEYS_REFUSED}"
        clear(it, KEYS)
        clear(it, "never raised")
        assert list(open_problems(it).values()) == ["The amount differs."]
        clear(it, of_words(AMOUNT, "1"))
        assert open_problems(it) == {}

    def test_what_comes_back_is_a_problem_again(self) -> None:
        it = a_payment()
        for _ in range(2):
            raise_on(it, KEYS, KEYS_REFUSED, NOON)
            assert open_problems(it) == {KEYS: KEYS_REFUSED}
            clear(it, KEYS)
            assert open_problems(it) == {}

    def test_what_staff_have_looked_at_is_not_told_again_when_the_gateway_repeats_itself(self) -> None:
        it = a_payment()
        raise_on(it, of_words(AMOUNT, "1"), AMOUNT, NOON)
        assert acknowledge(it) == ("The amount differs.",)
        raise_on(it, of_words(AMOUNT, "1"), AMOUNT, NOON)
        assert open_problems(it) == {}
        raise_on(it, of_words(CURRENCY, "1"), CURRENCY, NOON)
        assert it.problem == "The currency differs."
        assert acknowledge(it) == ("The currency differs.",)
        assert acknowledge(it) == ()

    def test_nobody_can_look_wrong_keys_away(self) -> None:
        it = a_payment()
        raise_on(it, KEYS, KEYS_REFUSED, NOON)
        assert acknowledge(it) == ()
        assert it.problem == KEYS_REFUSED


class TestKeys:
    async def test_every_payment_of_the_account_is_relieved_when_they_are_accepted(self, shop: Shop) -> None:
        """The one that failed for them is asked nothing any more: it must not keep its problem for ever."""
        failed = shop.transaction
        shop.gateway.will(refused("Invalid credentials", "S-404", 401))
        await shop.begin()
        assert (await shop.aggregate()).payment.problem == KEYS_REFUSED
        shop.transaction = shop.saleor.new_transaction()
        shop.gateway.will(shop.gateway.page())
        await shop.begin()
        assert (await shop.aggregate()).payment.problem is None
        shop.transaction = failed
        assert (await shop.aggregate()).payment.problem is None

    async def test_a_look_up_that_succeeds_again(self, shop: Shop) -> None:
        shop.gateway.will(shop.gateway.page())
        await shop.begin()
        shop.gateway.will_look(refused("Invalid credentials", "S-404", 401))
        await shop.come_back()
        assert (await shop.aggregate()).payment.problem == KEYS_REFUSED
        shop.gateway.book[shop.order_id] = [payment(shop.order_id)]
        await shop.come_back()
        assert (await shop.aggregate()).payment.problem is None

    async def test_an_operation_that_is_accepted_again(self, paid: Shop) -> None:
        paid.gateway.will(refused("Invalid credentials", "S-404", 401))
        await paid.staff("REFUND", "1.00", "first")
        assert (await paid.aggregate()).payment.problem == KEYS_REFUSED
        paid.gateway.will(said(operation("refund", paid.order_id, "1.00")))
        await paid.staff("REFUND", "1.00", "second")
        assert (await paid.aggregate()).payment.problem is None

    async def test_another_problem_stays(self, shop: Shop) -> None:
        shop.gateway.will(shop.gateway.page())
        await shop.begin()
        await shop.notify(payment(shop.order_id, amount="1.00"))
        await shop.work()
        shop.gateway.will_look(refused("Invalid credentials", "S-404", 401))
        await shop.come_back()
        assert KEYS_REFUSED in ((await shop.aggregate()).payment.problem or "")
        await shop.come_back()
        problem = (await shop.aggregate()).payment.problem or ""
        assert KEYS_REFUSED not in problem
        assert "1.00 UAH, but 569.50 UAH was asked" in problem


class TestAddress:
    @pytest.mark.parametrize(
        ("status", "link"), [(301, "/api/v1/payment"), (307, "/api/v1/checkout/1/form"), (303, "/api/v1/payment")]
    )
    async def test_a_gateway_that_has_moved(self, shop: Shop, status: int, link: str) -> None:
        shop.gateway.will(Reply(status, headers=(("Location", f"{shop.gateway.url}{link}"),)))
        answer = await shop.begin()
        assert "checkoutUrl" not in str(answer.data)
        assert "leads elsewhere" in ((await shop.aggregate()).payment.problem or "")
        shop.gateway.book[shop.order_id] = [payment(shop.order_id, "failure", status_code="6007")]
        await shop.later(minutes=5)
        assert (await shop.aggregate()).payment.problem is None


async def test_a_mismatch_that_staff_have_settled_is_not_raised_again_by_the_next_look_up(shop: Shop) -> None:
    shop.gateway.will(shop.gateway.page())
    await shop.begin()
    await shop.notify(payment(shop.order_id, amount="1.00"))
    await shop.work()
    async with shop.services.database.transaction() as session:
        row = (await shop.aggregate()).payment
        acknowledge(row)
        await session.merge(row)
    await shop.come_back()
    assert (await shop.aggregate()).payment.problem is None
    assert (await shop.operation(Kind.CREATE)).state is State.INIT
