"""A problem is there as long as its cause is, and no longer; what only a person can judge, a person takes away."""

import pytest

from app.ledger.tables import Flow, Kind, Payment, State
from app.payments.outcome.problems import KEYS, KEYS_REFUSED, clear, looked_at, of_words, open_problems, raise_on
from app.payments.said import Said
from tests.payments.paper import NOON, a_sheet
from tests.payments.shop import Shop
from tests.payments.till import Reply, operation, payment, refused, said

AMOUNT, CURRENCY = Said("The amount differs."), Said("The currency differs.")


def a_payment() -> Payment:
    return a_sheet(Flow.CHARGE, State.SUCCESS).payment


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
        assert looked_at(it) == ("The amount differs.",)
        raise_on(it, of_words(AMOUNT, "1"), AMOUNT, NOON)
        assert open_problems(it) == {}
        raise_on(it, of_words(CURRENCY, "1"), CURRENCY, NOON)
        assert it.problem == "The currency differs."
        assert looked_at(it) == ("The currency differs.",)
        assert looked_at(it) == ()

    def test_nobody_can_look_wrong_keys_away(self) -> None:
        it = a_payment()
        raise_on(it, KEYS, KEYS_REFUSED, NOON)
        assert looked_at(it) == ()
        assert it.problem == KEYS_REFUSED


class TestKeys:
    async def test_every_payment_of_the_account_is_relieved_when_they_are_accepted(self, shop: Shop) -> None:
        """The one that failed for them is asked nothing any more: it must not keep its problem for ever."""
        failed = shop.transaction
        shop.till.will(refused("Invalid credentials", "S-404", 401))
        await shop.begin()
        assert (await shop.sheet()).payment.problem == KEYS_REFUSED
        shop.transaction = shop.books.new_transaction()
        shop.till.will(shop.till.page())
        await shop.begin()
        assert (await shop.sheet()).payment.problem is None
        shop.transaction = failed
        assert (await shop.sheet()).payment.problem is None

    async def test_a_look_up_that_succeeds_again(self, shop: Shop) -> None:
        shop.till.will(shop.till.page())
        await shop.begin()
        shop.till.will_look(refused("Invalid credentials", "S-404", 401))
        await shop.come_back()
        assert (await shop.sheet()).payment.problem == KEYS_REFUSED
        shop.till.book[shop.order_id] = [payment(shop.order_id)]
        await shop.come_back()
        assert (await shop.sheet()).payment.problem is None

    async def test_an_operation_that_is_accepted_again(self, paid: Shop) -> None:
        paid.till.will(refused("Invalid credentials", "S-404", 401))
        await paid.staff("REFUND", "1.00", "first")
        assert (await paid.sheet()).payment.problem == KEYS_REFUSED
        paid.till.will(said(operation("refund", paid.order_id, "1.00")))
        await paid.staff("REFUND", "1.00", "second")
        assert (await paid.sheet()).payment.problem is None

    async def test_another_problem_stays(self, shop: Shop) -> None:
        shop.till.will(shop.till.page())
        await shop.begin()
        await shop.notify(payment(shop.order_id, amount="1.00"))
        await shop.work()
        shop.till.will_look(refused("Invalid credentials", "S-404", 401))
        await shop.come_back()
        assert KEYS_REFUSED in ((await shop.sheet()).payment.problem or "")
        await shop.come_back()
        problem = (await shop.sheet()).payment.problem or ""
        assert KEYS_REFUSED not in problem
        assert "1.00 UAH, but 569.50 UAH was asked" in problem


class TestAddress:
    @pytest.mark.parametrize(
        ("status", "link"), [(301, "/api/v1/payment"), (307, "/api/v1/checkout/1/form"), (303, "/api/v1/payment")]
    )
    async def test_a_gateway_that_has_moved(self, shop: Shop, status: int, link: str) -> None:
        shop.till.will(Reply(status, headers=(("Location", f"{shop.till.url}{link}"),)))
        answer = await shop.begin()
        assert "checkoutUrl" not in str(answer.data)
        assert "leads elsewhere" in ((await shop.sheet()).payment.problem or "")
        shop.till.book[shop.order_id] = [payment(shop.order_id, "failure", status_code="6007")]
        await shop.later(minutes=5)
        assert (await shop.sheet()).payment.problem is None


async def test_a_mismatch_that_staff_have_settled_is_not_raised_again_by_the_next_look_up(shop: Shop) -> None:
    shop.till.will(shop.till.page())
    await shop.begin()
    await shop.notify(payment(shop.order_id, amount="1.00"))
    await shop.work()
    async with shop.desk.database.transaction() as session:
        row = (await shop.sheet()).payment
        looked_at(row)
        await session.merge(row)
    await shop.come_back()
    assert (await shop.sheet()).payment.problem is None
    assert (await shop.operation(Kind.CREATE)).state is State.INIT
