"""Whatever the gateway signs is kept and made something of, however strange its words; and it is tried once."""

from decimal import Decimal
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlmodel import col, select

from app.core.alerts import AlertKind
from app.core.vocabulary import Kind, State
from app.flows.notifications import Receipt, receive
from app.rules.issues import Issue, IssueCode
from app.rules.problems import open_problems, problem_messages, problem_text
from app.store.tables import Notification
from integration_base_tests.loopback import json_reply
from tests.notification_facts import APPLIED
from tests.payments.fake_gateway import operation, payment
from tests.payments.fake_saleor import amounts
from tests.payments.shop import TOTAL, Shop, signed_notification

STRANGE = {
    "long": "7" * 300,
    "NUL": "10\x0000",
    "not ASCII": "Київ🙂" * 60,
}
HALF_A_PAIR = "10\ud800"  # of surrogates: no text that can be told to anybody
strange = pytest.mark.parametrize("word", STRANGE.values(), ids=STRANGE.keys())


async def inbox(shop: Shop) -> list[Notification]:
    """Return all notifications that were kept."""
    async with shop.services.database.transaction() as session:
        return list((await session.exec(select(Notification).order_by(col(Notification.id)))).all())


@pytest.mark.threat("hostile-text")
@pytest.mark.law(6)
@strange
@pytest.mark.parametrize(
    "field",
    ["status_code", "payment_id", "transaction_id", "payway"],
)
async def test_a_payment_is_known_whatever_else_is_said_of_it(shop: Shop, field: str, word: str) -> None:
    shop.gateway.will_answer(shop.gateway.page())
    await shop.begin()
    record = payment(shop.order_id, **{field: word})
    assert await shop.notify(record) is Receipt.KEPT
    await shop.work()
    [kept] = await inbox(shop)
    assert (kept.outcome, kept.trouble, kept.attempts) == (APPLIED.stored, None, 1)
    assert (await shop.aggregate()).create.state is State.SUCCESS
    assert shop.amounts == amounts(charged=TOTAL)
    assert await shop.notify(record) is Receipt.REPEATED


@pytest.mark.fault("poison")
@strange
@pytest.mark.parametrize("field", ["order_id", "pos_id", "currency", "method"])
async def test_what_is_of_no_payment_of_ours_is_kept_and_seen(shop: Shop, field: str, word: str) -> None:
    """It is not matched, or does not agree; in no case is it lost, an error, or tried without end."""
    shop.gateway.will_answer(shop.gateway.page())
    await shop.begin()
    form = signed_notification(payment(shop.order_id) | {field: word})
    assert await receive(shop.services, shop.account.id, form) in {Receipt.KEPT, Receipt.UNREADABLE}
    await shop.work()
    [kept] = await inbox(shop)
    assert kept.next_attempt_at is None
    assert kept.attempts <= 1
    assert (await shop.aggregate()).create.state is not State.SUCCESS
    if field == "order_id":
        assert kept.trouble == AlertKind.UNMATCHED
    if field == "pos_id":
        assert problem_text((await shop.aggregate()).payment)


@pytest.mark.parametrize("field", ["payment_id", "order_id"])
async def test_a_name_that_is_no_text_is_kept_for_a_person_to_see(shop: Shop, field: str) -> None:
    form = signed_notification(payment(shop.order_id) | {field: HALF_A_PAIR})
    assert await receive(shop.services, shop.account.id, form) is Receipt.UNREADABLE
    [kept] = await inbox(shop)
    assert (kept.trouble, kept.next_attempt_at) == (AlertKind.UNREADABLE, None)


async def test_what_is_no_text_beside_the_names_changes_nothing(shop: Shop) -> None:
    shop.gateway.will_answer(shop.gateway.page())
    await shop.begin()
    assert await shop.notify(payment(shop.order_id, status_code=HALF_A_PAIR, payway=HALF_A_PAIR)) is Receipt.KEPT
    await shop.work()
    assert (await shop.aggregate()).create.state is State.SUCCESS


@strange
async def test_an_operation_is_known_by_its_strange_name(paid_shop: Shop, word: str) -> None:
    """The answer, the notification and the look-up name it alike, and it is one operation."""
    record = operation("refund", paid_shop.order_id, "100.00", operation_id=word)
    paid_shop.gateway.will_answer(json_reply(record))
    await paid_shop.request_action("REFUND", "100.00")
    await paid_shop.notify(record)
    await paid_shop.work()
    assert paid_shop.amounts == amounts(charged="469.50", refunded="100.00")
    assert (
        len([operation for operation in (await paid_shop.aggregate()).operations if operation.kind is Kind.REFUND]) == 1
    )


async def test_two_long_names_with_one_beginning_are_two_operations(paid_shop: Shop) -> None:
    for end in "ab":
        await paid_shop.notify(operation("refund", paid_shop.order_id, "100.00", operation_id="r" * 300 + end))
    await paid_shop.work()
    assert paid_shop.amounts == amounts(charged="369.50", refunded="200.00")


@pytest.mark.threat("hostile-text")
@settings(max_examples=12, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(
    said_of_it=st.dictionaries(
        st.sampled_from(["status_code", "payment_id", "pos_id", "currency", "order_id", "payway", "transaction_id"]),
        st.text(st.characters(), min_size=1, max_size=300) | st.text("\x00\ud800\udfffї", min_size=1),
    )
)
async def test_any_words_at_all(shop: Shop, said_of_it: dict[str, Any]) -> None:
    shop.transaction = shop.saleor.new_transaction()
    shop.gateway.will_answer(shop.gateway.page())
    await shop.begin()
    assert await receive(shop.services, shop.account.id, signed_notification(payment(shop.order_id) | said_of_it)) in {
        Receipt.KEPT,
        Receipt.REPEATED,
        Receipt.UNREADABLE,
    }
    await shop.work()
    assert {notification.trouble for notification in await inbox(shop)} <= {
        None,
        AlertKind.UNMATCHED,
        AlertKind.UNREADABLE,
    }


async def test_a_payment_has_no_more_problems_than_anybody_reads(shop: Shop) -> None:
    """Each word that does not agree is a problem of its own, and the gateway may say any number of them."""
    shop.gateway.will_answer(shop.gateway.page())
    await shop.begin()
    for number in range(25):
        await shop.notify(payment(shop.order_id, amount=f"{number + 1}.00"))
        await shop.work()
    row = (await shop.aggregate()).payment
    assert len(open_problems(row)) == 21
    assert Issue(IssueCode.MORE_MISMATCHES).message in problem_messages(row)
    words = problem_text(row)
    assert words is not None
    assert len(words) <= 4000


@pytest.mark.parametrize("amount", ["1e27", "123456789012345678901234567890.00", "92233720368547758.08", "1e400"])
@pytest.mark.parametrize("field", ["amount", "processed_amount"])
async def test_a_huge_amount_is_no_reason_to_lose_what_is_said(shop: Shop, field: str, amount: str) -> None:
    """It does not agree, and is tried once."""
    shop.gateway.will_answer(shop.gateway.page())
    await shop.begin()
    form = signed_notification(payment(shop.order_id) | {field: Decimal(amount)})
    assert await receive(shop.services, shop.account.id, form) in {Receipt.KEPT, Receipt.UNREADABLE}
    await shop.work()
    [kept] = await inbox(shop)
    assert kept.next_attempt_at is None
    assert kept.trouble in {None, AlertKind.UNREADABLE}
    assert (await shop.aggregate()).create.state is not State.SUCCESS
    assert kept.trouble or problem_text((await shop.aggregate()).payment)
