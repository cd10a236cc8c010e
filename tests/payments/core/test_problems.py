"""A problem is there as long as its cause is, and no longer; what only a person can judge, a person takes away."""

from datetime import timedelta
from decimal import Decimal

import pytest

from app.core.alerts import AlertKind
from app.core.ids import OperationRowId
from app.core.payment import Payment, row_id_of
from app.core.vocabulary import Flow, Kind, State
from app.i18n.messages import Money
from app.rules.balance import ZERO
from app.rules.issues import Issue, IssueCode, while_disputed
from app.rules.problems import (
    KEYS,
    PAID_TWICE,
    SEALED,
    UNREADABLE,
    Cause,
    Unowed,
    acknowledge,
    add_problem,
    cause_of_dispute,
    cause_of_mismatch,
    cause_of_unowed_money,
    clear_mismatches,
    clear_problem,
    has_mismatch,
    message_of,
    needs_decision,
    open_problems,
    problem_messages,
    problem_text,
    restate_unowed_money,
)
from app.store.aggregates import ById
from integration_base_tests.loopback import Reply, json_reply
from tests.payments.aggregates import HUNDRED, NOON, an_aggregate, an_operation
from tests.payments.changes import Change
from tests.payments.fake_gateway import operation, payment, refusal_reply
from tests.payments.problems import by_cause, issue_saying
from tests.payments.shop import Shop

AMOUNT, CURRENCY = issue_saying("The amount differs."), issue_saying("The currency differs.")
REFUSED, MORE = Issue(IssueCode.KEYS_REFUSED), Issue(IssueCode.MORE_MISMATCHES)
KEYS_REFUSED = REFUSED.message


def a_payment() -> Payment:
    return an_aggregate(Flow.CHARGE, State.SUCCESS).payment


class TestOnPaper:
    def test_several_at_once_and_each_goes_with_its_cause(self) -> None:
        it = a_payment()
        add_problem(it, cause_of_mismatch(AMOUNT, OperationRowId(1), ""), AMOUNT, NOON)
        add_problem(it, KEYS, REFUSED, NOON)
        assert problem_text(it) == f"{AMOUNT.message}\n{KEYS_REFUSED}"
        clear_problem(it, KEYS, NOON)
        clear_problem(it, cause_of_mismatch(issue_saying("never raised"), OperationRowId(1), ""), NOON)
        assert problem_messages(it) == [AMOUNT.message]
        clear_problem(it, cause_of_mismatch(AMOUNT, OperationRowId(1), ""), NOON)
        assert open_problems(it) == []

    @pytest.mark.parametrize(
        ("reason", "now", "shown"),
        [
            (Unowed.ORDER_CANCELED, "100.01", True),
            (Unowed.ORDER_CANCELED, "100.00", False),
            (Unowed.ORDER_CANCELED, "99.99", False),
            (Unowed.NOT_ORDERED, "100.01", True),
            (Unowed.OVERPAID, "100.01", False),
        ],
    )
    def test_more_that_is_not_owed_than_staff_have_acknowledged_is_shown_again(
        self, reason: Unowed, now: str, shown: bool
    ) -> None:
        """Not what is paid beyond a total: staff change that themselves."""
        it, cause = a_payment(), cause_of_unowed_money(reason, ZERO)
        raised = add_problem(it, cause, Issue(IssueCode.NOT_ORDERED, sum=Money(HUNDRED, "UAH")), NOON)
        acknowledge(it, NOON)
        later, sum_now = NOON + timedelta(days=30), Money(Decimal(now), "UAH")
        restate_unowed_money(it, raised, Issue(IssueCode.NOT_ORDERED, sum=sum_now), later)
        assert bool(open_problems(it)) is shown
        assert it.problem_since == (later if shown else None)
        assert str(sum_now) in message_of(raised)

    def test_what_comes_back_is_a_problem_again(self) -> None:
        it = a_payment()
        for _ in range(2):
            add_problem(it, KEYS, REFUSED, NOON)
            assert by_cause(it) == {KEYS: KEYS_REFUSED}
            clear_problem(it, KEYS, NOON)
            assert open_problems(it) == []

    def test_what_ends_and_begins_again_in_one_step_is_one_row(self) -> None:
        it = a_payment()
        later = NOON + timedelta(hours=1)
        add_problem(it, KEYS, REFUSED, NOON)
        clear_problem(it, KEYS, later)
        assert not it.has_problems
        add_problem(it, KEYS, REFUSED, later)
        assert by_cause(it) == {KEYS: KEYS_REFUSED}
        assert [(problem.raised_at, problem.ended_at) for problem in it.problems] == [(later, None)]
        assert it.problem_since == later

    def test_the_payment_knows_since_when_there_is_something_to_look_at(self) -> None:
        it = a_payment()
        for number, words in enumerate((AMOUNT, CURRENCY)):
            add_problem(it, cause_of_mismatch(words, OperationRowId(number), ""), words, NOON + timedelta(hours=number))
        assert it.problem_since == NOON
        clear_problem(it, cause_of_mismatch(AMOUNT, OperationRowId(0), ""), NOON)
        assert it.problem_since == NOON + timedelta(hours=1)
        acknowledge(it, NOON)
        assert it.has_problems  # it is known, so that it is not raised again
        assert open_problems(it) == []
        assert has_mismatch(it)

    def test_what_is_about_another_operation_stays(self) -> None:
        it = a_payment()
        first, second = OperationRowId(1), OperationRowId(2)
        for operation_id, gateway_id in ((first, "one"), (second, "two"), (None, "one"), (None, "two")):
            add_problem(it, cause_of_mismatch(AMOUNT, operation_id, gateway_id), AMOUNT, NOON)
        add_problem(it, UNREADABLE, CURRENCY, NOON)
        clear_mismatches(it, OperationRowId(1), "one", NOON)
        assert list(by_cause(it)) == [
            cause_of_mismatch(AMOUNT, OperationRowId(2), ""),
            cause_of_mismatch(AMOUNT, None, "two"),
            UNREADABLE,
        ]

    def test_when_there_are_more_than_are_listed_staff_are_told_of_each_new_one(self) -> None:
        it = a_payment()
        for number in range(22):
            add_problem(it, cause_of_mismatch(AMOUNT, OperationRowId(number), ""), AMOUNT, NOON)
        assert problem_messages(it).count(MORE.message) == 1
        acknowledge(it, NOON)
        add_problem(it, cause_of_mismatch(AMOUNT, OperationRowId(5), ""), AMOUNT, NOON)
        assert open_problems(it) == []
        add_problem(it, cause_of_mismatch(AMOUNT, OperationRowId(30), ""), AMOUNT, NOON)
        assert problem_messages(it) == [MORE.message]

    def test_twenty_mismatches_are_listed_and_what_ends_by_itself_is_always(self) -> None:
        it = a_payment()
        causes = [cause_of_mismatch(AMOUNT, OperationRowId(number), "") for number in range(20)]
        for cause in (*causes, cause_of_mismatch(AMOUNT, OperationRowId(20), ""), KEYS, UNREADABLE):
            add_problem(it, cause, AMOUNT, NOON)
        listed = list(by_cause(it))
        assert listed[:20] == causes
        assert [(cause.kind, cause.operation_id) for cause in listed[20:]] == [
            (AlertKind.MISMATCH, None),  # it stands for the others
            (AlertKind.KEYS, None),
            (AlertKind.MISMATCH, None),
        ]
        assert problem_messages(it)[20] == MORE.message

    @pytest.mark.law(13)
    @pytest.mark.parametrize(
        ("state", "is_looked_up", "stays"),
        [
            (State.PENDING, False, True),
            (State.PENDING, True, False),
            (State.WAITING, False, False),
            (State.SUCCESS, False, False),
        ],
    )
    def test_what_stands_for_further_mismatches_stays_while_one_may_have_stopped_the_look_ups(
        self, state: State, *, is_looked_up: bool, stays: bool
    ) -> None:
        """Which operation a mismatch that is not listed is about is not known: any that nobody looks up any more."""
        it = a_payment()
        for number in range(21):
            add_problem(it, cause_of_mismatch(AMOUNT, OperationRowId(number), ""), AMOUNT, NOON)
        refund = an_operation(Kind.REFUND, state, id=1000, next_poll_at=NOON if is_looked_up else None)
        acknowledge(it, NOON, [refund])
        assert problem_messages(it) == ([MORE.message] if stays else [])

    @pytest.mark.law(8)
    @pytest.mark.parametrize(
        "cause", [KEYS, SEALED, PAID_TWICE, UNREADABLE, cause_of_mismatch(AMOUNT, OperationRowId(1), "")]
    )
    def test_only_a_record_that_was_read_can_be_one_that_does_not_match(self, cause: Cause) -> None:
        it = a_payment()
        problem = add_problem(it, cause, AMOUNT, NOON)
        assert has_mismatch(it) is needs_decision(problem) is (cause.operation_id is not None)

    @pytest.mark.parametrize("lost", [False, True])
    def test_staff_are_not_to_refund_what_the_payer_may_get_from_the_bank(self, *, lost: bool) -> None:
        """A lost dispute has ended: what is left is to be refunded, as it says."""
        it = a_payment()
        dispute = an_operation(Kind.DISPUTE, State.SUCCESS if lost else State.PENDING, operation_id="the-dispute")
        add_problem(it, cause_of_dispute(dispute, lost=lost), CURRENCY, NOON)
        add_problem(it, PAID_TWICE, AMOUNT, NOON)
        advice = AMOUNT.message if lost else while_disputed(AMOUNT.message)
        assert problem_messages(it) == [CURRENCY.message, advice]

    def test_words_that_no_database_can_hold(self) -> None:
        odd = Issue(IssueCode.OTHER_ORDER, order="\x00\ud800")
        it = a_payment()
        add_problem(it, cause_of_mismatch(odd, None, "\udfff"), odd, NOON)
        assert "(\ufffd\ufffd)" in (problem_text(it) or "")

    def test_what_staff_have_looked_at_is_not_told_again_when_the_gateway_repeats_itself(self) -> None:
        it = a_payment()
        add_problem(it, cause_of_mismatch(AMOUNT, OperationRowId(1), ""), AMOUNT, NOON)
        assert acknowledge(it, NOON) == (AMOUNT.message,)
        add_problem(it, cause_of_mismatch(AMOUNT, OperationRowId(1), ""), AMOUNT, NOON)
        assert open_problems(it) == []
        add_problem(it, cause_of_mismatch(CURRENCY, OperationRowId(1), ""), CURRENCY, NOON)
        assert problem_text(it) == CURRENCY.message
        assert acknowledge(it, NOON) == (CURRENCY.message,)
        assert acknowledge(it, NOON) == ()

    def test_nobody_can_look_wrong_keys_away(self) -> None:
        it = a_payment()
        add_problem(it, KEYS, REFUSED, NOON)
        assert acknowledge(it, NOON) == ()
        assert problem_text(it) == KEYS_REFUSED


class TestKeys:
    @pytest.mark.fault("gateway-keys")
    async def test_every_payment_of_the_account_is_relieved_when_they_are_accepted(self, shop: Shop) -> None:
        """The one that failed for them is asked nothing any more: it must not keep its problem for ever."""
        failed = shop.transaction
        shop.gateway.will_answer(refusal_reply("Invalid credentials", "S-404", 401))
        await shop.begin()
        assert problem_text((await shop.aggregate()).payment) == KEYS_REFUSED
        shop.transaction = shop.saleor.new_transaction()
        shop.gateway.will_answer(shop.gateway.page())
        await shop.begin()
        assert problem_text((await shop.aggregate()).payment) is None
        shop.transaction = failed
        assert problem_text((await shop.aggregate()).payment) is None

    async def test_a_look_up_that_succeeds_again(self, shop: Shop) -> None:
        shop.gateway.will_answer(shop.gateway.page())
        await shop.begin()
        shop.gateway.will_answer_look_ups(refusal_reply("Invalid credentials", "S-404", 401))
        await shop.process_session()
        assert problem_text((await shop.aggregate()).payment) == KEYS_REFUSED
        shop.gateway.book[shop.order_id] = [payment(shop.order_id)]
        await shop.process_session()
        assert problem_text((await shop.aggregate()).payment) is None

    async def test_an_operation_that_is_accepted_again(self, paid_shop: Shop) -> None:
        paid_shop.gateway.will_answer(refusal_reply("Invalid credentials", "S-404", 401))
        await paid_shop.request_action("REFUND", "1.00", "first")
        assert problem_text((await paid_shop.aggregate()).payment) == KEYS_REFUSED
        paid_shop.gateway.will_answer(json_reply(operation("refund", paid_shop.order_id, "1.00")))
        await paid_shop.request_action("REFUND", "1.00", "second")
        assert problem_text((await paid_shop.aggregate()).payment) is None

    async def test_another_problem_stays(self, shop: Shop) -> None:
        shop.gateway.will_answer(shop.gateway.page())
        await shop.begin()
        await shop.notify(payment(shop.order_id, amount="1.00"))
        await shop.work()
        shop.gateway.will_answer_look_ups(refusal_reply("Invalid credentials", "S-404", 401))
        await shop.process_session()
        assert KEYS_REFUSED in (problem_text((await shop.aggregate()).payment) or "")
        await shop.process_session()
        problem = problem_text((await shop.aggregate()).payment) or ""
        assert KEYS_REFUSED not in problem
        assert "1.00 UAH, but 569.50 UAH was requested" in problem


class TestAddress:
    @pytest.mark.parametrize(
        ("status", "link"), [(301, "/api/v1/payment"), (307, "/api/v1/checkout/1/form"), (303, "/api/v1/payment")]
    )
    async def test_a_gateway_that_has_moved(self, shop: Shop, status: int, link: str) -> None:
        shop.gateway.will_answer(Reply(status, headers={"Location": f"{shop.gateway.url}{link}"}))
        answer = await shop.begin()
        assert "checkoutUrl" not in str(answer.data)
        assert "redirects elsewhere" in (problem_text((await shop.aggregate()).payment) or "")
        shop.gateway.book[shop.order_id] = [payment(shop.order_id, "failure", status_code="6007")]
        await shop.pass_time(minutes=5)
        assert problem_text((await shop.aggregate()).payment) is None


async def test_a_mismatch_that_staff_have_settled_is_not_raised_again_by_the_next_look_up(shop: Shop) -> None:
    shop.gateway.will_answer(shop.gateway.page())
    await shop.begin()
    await shop.notify(payment(shop.order_id, amount="1.00"))
    await shop.work()
    which = ById(row_id_of((await shop.aggregate()).payment))
    await shop.services.payments.record(which, Change(lambda aggregate: acknowledge(aggregate.payment, shop.clock.now)))
    await shop.process_session()
    assert problem_text((await shop.aggregate()).payment) is None
    assert (await shop.operation(Kind.CREATE)).state is State.INIT
