"""A payment has started a subscription: what it charges later is known, told, and can be given back."""

import re
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest

from app.core.alerts import AlertKind
from app.core.ids import GatewayOperationId
from app.core.notification import Outcome, OutcomeCode
from app.core.vocabulary import Flow, Kind, State
from app.flows.saved_cards import delete_customer_cards
from app.flows.staff.actions import StaffRequest, request_action
from app.flows.staff.manual_resolution import Decision, settle
from app.flows.staff.subscription import cancel_subscription
from app.rules.balance import balance
from app.rules.problems import problem_text
from app.rules.refusal import RefusalError
from integration_base import exact_json
from integration_base_tests.loopback import Reply, json_reply
from saleor_app_sdk.events import AccountDeleted, CustomerDeleted, CustomerEvent
from saleor_app_sdk.testing.records import Order
from tests.payments.alert_cases import subjects
from tests.payments.fake_gateway import BROKEN, operation, payment, refusal_reply
from tests.payments.fake_saleor import amounts
from tests.payments.shop import CUSTOMER, TOTAL, Shop
from tests.payments.test_money_and_order_part import acknowledge_all

SUM = Decimal(TOTAL)
ACTIVE = {"id": "rec-1", "status": "active"}


def charge(shop: Shop, named: str, status: str = "success", amount: object = TOTAL, **more: Any) -> dict[str, Any]:
    """A later charge of the subscription: the order's name again, and a payment of its own."""
    later = {"created_at": "2026-11-21T12:02:00.000", "processed_at": "2026-11-21T12:02:00.000"}
    said = {"payment_id": named, "mode": "direct", "recurring": ACTIVE, **later, **more}
    return payment(shop.order_id, status, amount, **said)


async def subscribed(shop: Shop) -> None:
    """The shopper has paid, and with that the subscription has begun."""
    await shop.complete_payment()
    shop.gateway.book[shop.order_id].clear()
    await shop.notify(payment(shop.order_id, recurring=ACTIVE))
    await shop.work()
    assert shop.amounts == amounts(charged=TOTAL)


async def charged_for_an_order_that_was_cancelled(shop: Shop) -> Order:
    """The order is cancelled, and its subscription charges a second time. Saleor states totals."""
    shop.saleor.states_totals = True
    await subscribed(shop)
    order = shop.saleor.order(shop.transaction)
    order.status = "CANCELED"
    await shop.notify(charge(shop, "second"))
    await shop.pass_time(minutes=1)
    return order


async def charges(shop: Shop) -> list[tuple[str | None, State, Decimal]]:
    """What is recorded of the charges of the subscription."""
    found = (await shop.aggregate()).operations
    return [
        (operation.operation_id, operation.state, operation.amount)
        for operation in found
        if operation.kind is Kind.RECURRING
    ]


async def test_the_payment_says_that_it_has_begun_a_subscription(shop: Shop) -> None:
    await subscribed(shop)
    kept = (await shop.aggregate()).payment
    assert (kept.recurring_id, kept.recurring_status) == ("rec-1", "active")


@pytest.mark.law(10)
async def test_a_charge_that_is_notified_is_told_to_saleor_once(shop: Shop) -> None:
    await subscribed(shop)
    for _ in range(2):
        await shop.notify(charge(shop, "second"))
        await shop.pass_time(minutes=1)
    assert shop.amounts == amounts(charged="1139.00")
    assert await charges(shop) == [("second", State.SUCCESS, SUM)]
    await shop.notify(charge(shop, "third", amount="100.00"))
    await shop.pass_time(minutes=1)
    assert shop.amounts == amounts(charged="1239.00")
    assert not (await shop.aggregate()).payment.has_problems


@pytest.mark.law(7)
async def test_a_later_charge_that_the_bank_took_back_leaves_the_first_payment_alone(shop: Shop) -> None:
    await subscribed(shop)
    await shop.notify(charge(shop, "second"))
    await shop.pass_time(minutes=1)
    await shop.notify(charge(shop, "second", "failure"))
    await shop.work()
    assert shop.amounts == amounts(charged="1139.00")
    taken_back = Decision(State.FAILURE, "olena", "gone, says the bank")
    await settle(shop.services, shop.order_id, (await shop.operation(Kind.RECURRING)).id, taken_back)
    await shop.work()
    assert shop.amounts == amounts(charged=TOTAL)
    now = balance(Flow.CHARGE, (await shop.aggregate()).operations)
    assert (now.refundable, now.kept) == (SUM, SUM)


@pytest.mark.law(10)
async def test_a_charge_whose_notification_is_lost_is_found_by_the_next_look(shop: Shop) -> None:
    await subscribed(shop)
    shop.gateway.book[shop.order_id].append(charge(shop, "second"))
    await shop.notify(charge(shop, "third"))
    await shop.pass_time(hours=1)
    assert [named for named, _, _ in await charges(shop)] == ["third", "second"]
    assert shop.amounts == amounts(charged="1708.50")


async def test_a_charge_is_pending_first_and_then_there(shop: Shop) -> None:
    await subscribed(shop)
    await shop.notify(charge(shop, "second", "pending"))
    await shop.pass_time(seconds=30)
    assert await charges(shop) == [("second", State.PENDING, SUM)]
    assert shop.amounts == amounts(charged=TOTAL)
    shop.gateway.book[shop.order_id].append(charge(shop, "second"))
    await shop.pass_time(hours=2)  # nobody notifies: it is looked up
    assert shop.amounts == amounts(charged="1139.00")


async def test_a_charge_that_is_declined_takes_nothing_and_is_told(shop: Shop) -> None:
    """The first payment stays what it is: it was not it that failed."""
    await subscribed(shop)
    await shop.notify(charge(shop, "second", "failure"))
    await shop.pass_time(minutes=1)
    assert shop.amounts == amounts(charged=TOTAL)
    kept = await shop.aggregate()
    assert kept.create.state is State.SUCCESS
    assert not kept.payment.has_problems
    told = [event for event in kept.events if event.type == "CHARGE_FAILURE"]
    assert [event.psp_reference for event in told] == ["second"]


@pytest.mark.law(8)
@pytest.mark.parametrize("status", ["active", "canceled"])
async def test_a_charge_of_another_subscription_is_none_of_this_one(shop: Shop, status: str) -> None:
    """Somebody has paid once more under the same order id, and begun a subscription of their own."""
    await subscribed(shop)
    await shop.notify(charge(shop, "second", recurring={"id": "rec-2", "status": status}))
    await shop.pass_time(minutes=1)
    kept = await shop.aggregate()
    assert (kept.payment.recurring_id, kept.payment.recurring_status) == ("rec-1", "active")
    assert await charges(shop) == []
    assert shop.amounts == amounts(charged=TOTAL)
    assert "second successful payment" in (problem_text(kept.payment) or "")


async def test_a_subscription_that_was_cancelled_stays_so_whatever_comes_late(shop: Shop) -> None:
    await subscribed(shop)
    for status in ("canceled", "active"):
        await shop.notify(charge(shop, f"of-{status}", recurring={"id": "rec-1", "status": status}))
        await shop.pass_time(minutes=1)
    assert (await shop.aggregate()).payment.recurring_status == "canceled"


@pytest.mark.law(14)
async def test_a_refund_of_saleors_gives_back_the_first_payment_and_no_more(shop: Shop) -> None:
    """The gateway takes the refund of a later charge elsewhere: which charge is meant only staff can say."""
    await subscribed(shop)
    await shop.notify(charge(shop, "second"))
    await shop.pass_time(minutes=1)
    answer = await shop.request_action("REFUND", SUM + 1, "one")
    assert answer.result == "REFUND_FAILURE"
    assert "subscription" in str(answer.message)
    shop.gateway.will_answer(json_reply(shop.record_refund(TOTAL, "back")))
    assert (await shop.request_action("REFUND", TOTAL, "two")).result == "REFUND_SUCCESS"
    await shop.pass_time(minutes=10)
    assert shop.amounts == amounts(charged=TOTAL, refunded=TOTAL)
    answer = await shop.request_action("REFUND", 1, "three")
    assert (answer.result, answer.actions) == ("REFUND_FAILURE", ())


@pytest.mark.law(10)
async def test_a_refund_of_a_later_charge_in_the_portal_leaves_the_first_payment_alone(shop: Shop) -> None:
    await subscribed(shop)
    await shop.notify(charge(shop, "second"))
    await shop.notify(operation("refund", shop.order_id, TOTAL, operation_id="back", payment_id="second"))
    await shop.pass_time(minutes=1)
    assert shop.amounts == amounts(charged=TOTAL, refunded=TOTAL)
    kept = await shop.aggregate()
    now = balance(kept.payment.flow, kept.operations)
    assert now.refundable == SUM
    assert [(recurring_charge.id, recurring_charge.refundable) for recurring_charge in now.recurring] == [
        ("second", Decimal("0.00"))
    ]


async def test_a_refund_in_flight_is_not_taken_for_one_of_another_charge(shop: Shop) -> None:
    await subscribed(shop)
    await shop.notify(charge(shop, "second"))
    await shop.pass_time(minutes=1)
    shop.gateway.will_answer(BROKEN)
    await shop.request_action("REFUND", TOTAL, "one")
    await shop.notify(operation("refund", shop.order_id, TOTAL, operation_id="of-second", payment_id="second"))
    await shop.work()
    states = [
        (operation.operation_id, operation.state)
        for operation in (await shop.aggregate()).operations
        if operation.kind is Kind.REFUND
    ]
    assert states == [(None, State.UNKNOWN), ("of-second", State.SUCCESS)]


def refund_of(charge_id: str, amount: object, key: str = "1") -> StaffRequest:
    return StaffRequest(
        Kind.REFUND, by="olena", key=key, amount=Decimal(str(amount)), charge_id=GatewayOperationId(charge_id)
    )


@pytest.mark.law(4)
async def test_staff_give_a_later_charge_back_and_the_first_payment_stays(shop: Shop) -> None:
    await subscribed(shop)
    await shop.notify(charge(shop, "second"))
    await shop.pass_time(minutes=1)
    record = operation("refund", shop.order_id, "500.00", operation_id="back", payment_id="second")
    shop.gateway.will_answer(json_reply(record))
    shop.gateway.book[shop.order_id].append(record)
    for _ in range(2):  # a double click
        _, done = await request_action(shop.services, shop.order_id, refund_of("second", "500.00"))
        assert (done.state, done.charge_id) == (State.SUCCESS, "second")
    [heard] = [request for request in shop.gateway.requests if request.method == "POST"]
    assert heard.path.endswith("/recurring/rec-1/payments/second/refund")
    await shop.pass_time(minutes=10)
    assert shop.amounts == amounts(charged="639.00", refunded="500.00")
    with pytest.raises(RefusalError, match="at most"):
        await request_action(shop.services, shop.order_id, refund_of("second", "69.51", "2"))
    with pytest.raises(RefusalError, match="no such charge"):
        await request_action(shop.services, shop.order_id, refund_of("another", "1.00", "3"))
    with pytest.raises(RefusalError, match="with different details"):
        await request_action(shop.services, shop.order_id, refund_of("another", "500.00"))


@pytest.mark.law(2)
async def test_a_refund_of_a_later_charge_whose_answer_is_lost_is_looked_up_and_not_asked_again(shop: Shop) -> None:
    await subscribed(shop)
    await shop.notify(charge(shop, "second"))
    await shop.pass_time(minutes=1)
    shop.gateway.will_answer(BROKEN)
    await request_action(shop.services, shop.order_id, refund_of("second", TOTAL))
    shop.gateway.book[shop.order_id].append(
        operation("refund", shop.order_id, TOTAL, operation_id="back", payment_id="second")
    )
    await shop.pass_time(minutes=10)
    assert shop.gateway.calls == ["refund"]
    assert shop.amounts == amounts(charged=TOTAL, refunded=TOTAL)


CANCELLED = json_reply({"recurring_status": "canceled"})


async def test_staff_cancel_the_subscription_and_saleor_hears_who_did(shop: Shop) -> None:
    await subscribed(shop)
    shop.gateway.will_answer(CANCELLED)
    for _ in range(2):  # the second time nobody is asked
        ended = await cancel_subscription(shop.services, shop.order_id, "olena")
        assert ended.payment.recurring_status == "canceled"
    await shop.pass_time(minutes=1)
    notes = [event.message for event in (await shop.aggregate()).events if event.type == "INFO"]
    assert [note for note in notes if "olena" in (note or "")] == [
        "Staff cancelled the subscription in the app (olena)"
    ]


async def test_a_cancellation_whose_answer_is_lost_is_found_by_a_look(shop: Shop) -> None:
    await subscribed(shop)
    shop.gateway.will_answer(BROKEN)
    with pytest.raises(RefusalError, match="did not say"):
        await cancel_subscription(shop.services, shop.order_id, "olena")
    shop.gateway.book[shop.order_id][0]["recurring"] = {"id": "rec-1", "status": "canceled"}
    shop.gateway.will_answer(BROKEN)
    ended = await cancel_subscription(shop.services, shop.order_id, "olena")
    assert ended.payment.recurring_status == "canceled"


@pytest.mark.parametrize(
    ("reply", "words"),
    [
        (refusal_reply("Operation is not possible", "P-4150"), "refused to cancel .*Operation is not possible.*P-4150"),
        (refusal_reply("bad signature", "S-401", 401), "refused to cancel .*bad signature"),
        (refusal_reply("slow down", "P-429", 429), "The gateway is busy"),
        (json_reply({"recurring_status": "active"}), "“active”"),
        (Reply(403, b"Blocked by the firewall"), "did not say whether .*Blocked by the firewall"),
    ],
    ids=["refused", "keys refused", "busy", "still active", "a proxy"],
)
async def test_staff_read_why_a_subscription_is_not_cancelled(shop: Shop, reply: Reply, words: str) -> None:
    await subscribed(shop)
    shop.gateway.will_answer(reply)
    with pytest.raises(RefusalError) as refused:
        await cancel_subscription(shop.services, shop.order_id, "olena")
    assert re.search(words, str(refused.value.message))
    assert (await shop.aggregate()).payment.recurring_status != "canceled"


async def test_what_has_begun_no_subscription_has_none_to_cancel(shop: Shop) -> None:
    await shop.complete_payment()
    with pytest.raises(RefusalError, match="no subscription"):
        await cancel_subscription(shop.services, shop.order_id, "olena")
    with pytest.raises(RefusalError, match="no such payment"):
        await cancel_subscription(shop.services, shop.order_id, "olena", installation_id=shop.installation.id + 1)


MONTHLY = {"interval": "month", "every": 1}


async def test_a_storefront_begins_a_subscription_where_the_store_allows_it(shop: Shop) -> None:
    await shop.services.accounts.change(shop.account.id, subscriptions=True)
    shop.gateway.will_answer(shop.gateway.page())
    await shop.begin(data={"customer": CUSTOMER, "subscription": MONTHLY | {"endsOn": "2027-11-21"}})
    [heard] = [request for request in shop.gateway.requests if request.method == "POST"]
    assert exact_json.loads(heard.body)["init_recurring"] == {
        "interval_unit": "month",
        "interval_count": 1,
        "expiry_date": "2027-11-21",
    }


@pytest.mark.parametrize(
    ("allowed", "flow", "plan", "why"),
    [
        (False, "CHARGE", MONTHLY, "does not offer subscriptions"),
        (True, "AUTHORIZATION", MONTHLY, "charged immediately"),
        (True, "CHARGE", MONTHLY | {"amount": "1.00"}, "data.subscription.amount"),
        (True, "CHARGE", {"interval": "decade", "every": 31}, "data.subscription.interval"),
        (True, "CHARGE", MONTHLY | {"startsOn": "2027-01-02", "endsOn": "2027-01-01"}, "expiry_date"),
    ],
)
async def test_a_subscription_that_cannot_be_begun_is_refused_before_anything_is_paid(
    shop: Shop, allowed: bool, flow: str, plan: dict[str, object], why: str
) -> None:
    await shop.services.accounts.change(shop.account.id, subscriptions=allowed)
    answer = await shop.begin(flow=flow, data={"customer": CUSTOMER, "subscription": plan})
    assert answer.result == f"{flow}_FAILURE"
    assert why in f"{answer.data} {answer.message}"
    assert shop.gateway.calls == []


async def test_what_a_day_has_brought_counts_the_charge(shop: Shop) -> None:
    await subscribed(shop)
    await shop.notify(charge(shop, "second", fee={"amount": Decimal("3.5"), "currency": "UAH"}))
    await shop.work()
    found = await shop.operation(Kind.RECURRING)
    assert (found.booked_at is not None, found.fee) == (True, Decimal("3.5"))
    assert found.created_at - shop.clock.now < timedelta(minutes=1)


@pytest.mark.law(10)
@pytest.mark.parametrize("method", ["refund", "dispute"])
async def test_what_is_returned_of_a_payment_that_is_not_ours_moves_no_charge(shop: Shop, method: str) -> None:
    """The gateway names a payment that is neither the first one nor a later charge: staff look at it."""
    await subscribed(shop)
    await shop.notify(charge(shop, "second"))
    await shop.pass_time(minutes=1)
    await shop.notify(returned(shop, method, "of-a-stranger", of="foreign"))
    await shop.pass_time(hours=1)
    [newest] = await shop.services.inbox.newest(shop.account.id, most=1)
    assert newest.outcome == Outcome(OutcomeCode.TO_REVIEW, (method, "success"))
    assert shop.amounts == amounts(charged="1139.00")
    kept = await shop.aggregate()
    assert [operation for operation in kept.operations if operation.kind.value == method] == []
    assert "something that the app does not know (foreign)" in (problem_text(kept.payment) or "")


def returned(shop: Shop, method: str, named: str, *, of: str, amount: object = TOTAL) -> dict[str, Any]:
    """A refund or a dispute of the payment ``of``."""
    return operation("refund", shop.order_id, amount, operation_id=named, payment_id=of) | {"method": method}


@pytest.mark.law(10)
@pytest.mark.parametrize("method", ["refund", "dispute"])
async def test_what_is_returned_of_a_later_charge_that_is_not_known_yet_is_booked_with_it(
    shop: Shop, method: str
) -> None:
    """The notification of the charge is late or lost: the whole order shows it, and staff have nothing to look at."""
    await subscribed(shop)
    shop.gateway.book[shop.order_id].append(charge(shop, "second"))
    await shop.notify(returned(shop, method, "back", of="second"))
    await shop.pass_time(hours=1)
    kept = await shop.aggregate()
    [back] = [operation for operation in kept.operations if operation.kind.value == method]
    assert (back.state, back.charge_id) == (State.SUCCESS, "second")
    assert await charges(shop) == [("second", State.SUCCESS, SUM)]
    assert shop.amounts.charged == SUM
    assert "something that the app does not know" not in (problem_text(kept.payment) or "")


EARLIER = "2026-11-21T11:59:00.000"


@pytest.mark.law(7)
@pytest.mark.parametrize("status", ["pending", "failure"])
async def test_a_card_that_was_declined_on_the_page_is_no_later_charge(shop: Shop, status: str) -> None:
    """The gateway counts each card as a payment of its own, and tells late of one that was tried first."""
    await subscribed(shop)
    declined = charge(shop, "first-card", status, mode="hosted", created_at=EARLIER, processed_at=EARLIER)
    await shop.notify(declined)
    await shop.pass_time(minutes=30)
    assert await charges(shop) == []
    assert shop.amounts == amounts(charged=TOTAL)
    kept = await shop.aggregate()
    assert kept.create.state is State.SUCCESS
    assert not kept.payment.has_problems
    assert [event.type for event in kept.events if event.type == "CHARGE_FAILURE"] == []


@pytest.mark.law(7)
@pytest.mark.law(15)
@pytest.mark.parametrize("created_at", [None, "", "1970-01-01T00:00:00.000", "2026-11-21T14:02:00.000"])
@pytest.mark.parametrize("status", ["pending", "failure"])
async def test_without_a_time_a_decline_is_no_later_charge_unless_its_id_is_known(
    shop: Shop, status: str, created_at: str | None
) -> None:
    """A card that was tried first, or a later charge: nobody said which. It moves nothing, so nothing is told."""
    await subscribed(shop)
    await shop.notify(charge(shop, "first-card", status, created_at=created_at, processed_at=created_at))
    await shop.pass_time(minutes=30)
    assert await charges(shop) == []
    kept = await shop.aggregate()
    assert (shop.amounts, kept.payment.has_problems) == (amounts(charged=TOTAL), False)
    assert [event for event in kept.events if event.type == "CHARGE_FAILURE"] == []

    await shop.notify(charge(shop, "second", "pending"))
    await shop.notify(charge(shop, "second", "failure", created_at=created_at, processed_at=created_at))
    await shop.notify(charge(shop, "third", created_at=created_at, processed_at=created_at))
    await shop.pass_time(minutes=1)
    assert await charges(shop) == [("second", State.FAILURE, SUM), ("third", State.SUCCESS, SUM)]
    assert shop.amounts == amounts(charged="1139.00")


@pytest.mark.law(7)
async def test_a_second_card_that_was_accepted_on_the_page_is_no_later_charge(shop: Shop) -> None:
    await subscribed(shop)
    await shop.notify(charge(shop, "first-card", mode="hosted", created_at=EARLIER))
    await shop.pass_time(minutes=1)
    assert await charges(shop) == []
    assert shop.amounts == amounts(charged=TOTAL)
    assert "second successful payment" in (problem_text((await shop.aggregate()).payment) or "")


@pytest.mark.law(15)
@pytest.mark.parametrize(
    ("paid_at", "first_at"),
    [("1970-01-01T00:00:00.000", None), (None, "2099-01-01T00:00:00.000")],
    ids=["paid", "first"],
)
async def test_a_second_card_is_no_first_charge_because_a_clock_was_reset(
    shop: Shop, paid_at: str | None, first_at: str | None
) -> None:
    await subscribed(shop)
    if first_at:
        await shop.notify(payment(shop.order_id, recurring=ACTIVE, created_at=first_at))
    times = {"created_at": EARLIER} | ({"processed_at": paid_at} if paid_at else {})
    await shop.notify(charge(shop, "first-card", mode="hosted", **times))
    await shop.pass_time(minutes=1)
    assert await charges(shop) == []
    assert shop.amounts == amounts(charged=TOTAL)
    assert "second successful payment" in (problem_text((await shop.aggregate()).payment) or "")


@pytest.mark.law(10)
@pytest.mark.parametrize("look_up", [False, True])
async def test_the_first_charge_that_is_reported_after_a_later_one_is_still_the_first(
    shop: Shop, look_up: bool
) -> None:
    """Its notification was lost, or comes last: what Saleor refunds is the first payment, at the gateway too."""
    shop.gateway.will_answer(shop.gateway.page())
    await shop.begin()
    first = payment(shop.order_id, recurring=ACTIVE, created_at="2026-11-21T12:00:00.000")
    await shop.notify(charge(shop, "second", amount=TOTAL))
    await shop.work()
    if look_up:
        shop.gateway.book[shop.order_id].append(first)
        await shop.notify(charge(shop, "third"))
    else:
        await shop.notify(first)
    await shop.pass_time(minutes=30)
    kept = await shop.aggregate()
    assert kept.create.operation_id == first["payment_id"]
    later = ["second", "third"] if look_up else ["second"]
    assert sorted(named or "" for named, _, _ in await charges(shop)) == later
    assert shop.amounts == amounts(charged=str(SUM * (len(later) + 1)))
    assert "second successful payment" not in (problem_text(kept.payment) or "")


@pytest.mark.law(10)
@pytest.mark.parametrize(("unnamed", "disputed"), [("second", ["second"]), ("first", [None, "second"])])
async def test_a_dispute_gets_an_id_of_its_own_and_stays_that_of_its_charge(
    shop: Shop, unnamed: str, disputed: list[str | None]
) -> None:
    """The record of a dispute may name only the payment that is disputed: the interface does not show it."""
    await subscribed(shop)
    await shop.notify(charge(shop, "second"))
    of_first = f"payment-of-{shop.order_id}"
    await shop.notify(payment(shop.order_id, method="dispute", payment_id=unnamed.replace("first", of_first)))
    await shop.notify(returned(shop, "dispute", "the-dispute", of="second"))
    await shop.pass_time(minutes=1)
    disputes = [operation for operation in (await shop.aggregate()).operations if operation.kind is Kind.DISPUTE]
    assert [dispute.charge_id for dispute in disputes] == disputed


@pytest.mark.law(10)
async def test_a_charge_that_is_reported_in_two_forms_is_one_charge(shop: Shop) -> None:
    """As a payment, and as an operation ``recurrent`` that names this payment."""
    await subscribed(shop)
    await shop.notify(charge(shop, "second"))
    await shop.notify(returned(shop, "recurrent", "of-the-subscription", of="second"))
    await shop.pass_time(minutes=1)
    assert await charges(shop) == [("second", State.SUCCESS, SUM)]
    assert shop.amounts == amounts(charged="1139.00")


@pytest.mark.law(10)
@pytest.mark.parametrize("said", ["active", "canceled"])
async def test_a_charge_that_is_reported_after_the_end_is_booked(shop: Shop, said: str) -> None:
    await subscribed(shop)
    shop.gateway.will_answer(CANCELLED)
    await cancel_subscription(shop.services, shop.order_id, "olena")
    await shop.notify(charge(shop, "second", recurring={"id": "rec-1", "status": said}))
    await shop.notify(returned(shop, "refund", "back", of="second"))
    await shop.pass_time(minutes=1)
    kept = await shop.aggregate()
    assert kept.payment.recurring_status == "canceled"
    assert await charges(shop) == [("second", State.SUCCESS, SUM)]
    assert shop.amounts == amounts(charged=TOTAL, refunded=TOTAL)


@pytest.mark.law(10)
async def test_what_is_charged_long_after_staff_have_cancelled_is_for_them(shop: Shop) -> None:
    await subscribed(shop)
    shop.saleor.order(shop.transaction)
    shop.gateway.will_answer(CANCELLED)
    await cancel_subscription(shop.services, shop.order_id, "olena")
    await shop.pass_time(hours=20)
    told_at = {"created_at": f"{shop.clock.now:%Y-%m-%dT%H:%M:%S.000}"}
    await shop.notify(charge(shop, "on its way", **told_at))  # by another clock it may have been before
    await shop.pass_time(hours=20)
    await shop.notify(charge(shop, "without a time", created_at=None))
    await shop.pass_time(minutes=1)
    assert problem_text((await shop.aggregate()).payment) is None
    told_at = {"created_at": f"{shop.clock.now:%Y-%m-%dT%H:%M:%S.000}"}
    await shop.notify(charge(shop, "declined", "failure", **told_at))
    for _ in range(2):
        await shop.notify(charge(shop, "month", amount="100.00", **told_at))
        await shop.pass_time(minutes=1)
    told = "The gateway charged 100.00 UAH for the subscription after it had been cancelled here"
    assert (problem_text((await shop.aggregate()).payment) or "").startswith(told)
    assert shop.amounts == amounts(charged=str(3 * SUM + 100))


@pytest.mark.law(10, 13)
async def test_charge_after_staff_have_reviewed_those_of_an_ended_order_is_told_again(shop: Shop) -> None:
    """Only the sum of what they had put aside changed, where nobody looks any more."""
    order = await charged_for_an_order_that_was_cancelled(shop)
    await acknowledge_all(shop)
    await shop.notify(returned(shop, "refund", "part", of="second", amount="69.50"))
    await shop.pass_time(days=1)
    assert problem_text((await shop.aggregate()).payment) is None
    await shop.notify(charge(shop, "third"))
    await shop.pass_time(minutes=1)
    kept = (await shop.aggregate()).payment
    told = (problem_text(kept) or "").replace(",", "")
    assert f"Order {order.number} was cancelled but {3 * SUM - Decimal('69.50')} UAH was paid" in told
    assert kept.problem_since is not None
    assert kept.problem_since >= shop.clock.now - timedelta(minutes=2)


@pytest.mark.law(10, 13)
async def test_each_charge_after_the_end_is_told_also_once_staff_have_reviewed_one(shop: Shop) -> None:
    await subscribed(shop)
    shop.saleor.order(shop.transaction)
    shop.gateway.will_answer(CANCELLED)
    await cancel_subscription(shop.services, shop.order_id, "olena")
    for month in ("first month", "second month"):
        await shop.pass_time(days=30)
        await shop.notify(charge(shop, month, created_at=f"{shop.clock.now:%Y-%m-%dT%H:%M:%S.000}"))
        await shop.pass_time(minutes=1)
        assert "after it had been cancelled here" in (problem_text((await shop.aggregate()).payment) or "")
        await acknowledge_all(shop)
        assert problem_text((await shop.aggregate()).payment) is None


@pytest.mark.law(10)
async def test_what_is_charged_for_an_order_that_has_ended_is_for_staff_until_it_is_given_back(shop: Shop) -> None:
    """A customer whose order was cancelled and refunded paid on, month by month, and nobody was told."""
    shop.saleor.states_totals = True
    await subscribed(shop)
    order = shop.saleor.order(shop.transaction)
    shop.gateway.will_answer(json_reply(operation("refund", shop.order_id, TOTAL)))
    await shop.request_action("REFUND", TOTAL)
    order.status = "CANCELED"
    await shop.work()
    assert not (await shop.aggregate()).payment.has_problems
    for number, named in enumerate(("second", "third"), 1):
        await shop.notify(charge(shop, named))
        await shop.pass_time(minutes=1)
        told = (problem_text((await shop.aggregate()).payment) or "").replace(",", "")
        assert f"Order {order.number} was cancelled but {number * SUM} UAH was paid" in told
    await shop.notify(returned(shop, "refund", "back-2", of="second"))
    await shop.pass_time(minutes=1)
    assert f"{SUM} UAH" in (problem_text((await shop.aggregate()).payment) or "")
    await shop.notify(returned(shop, "dispute", "back-3", of="third"))
    await shop.pass_time(minutes=1)
    assert "was cancelled" not in (problem_text((await shop.aggregate()).payment) or "")


@pytest.mark.law(10)
async def test_an_order_that_has_ended_is_told_with_all_that_its_subscription_has_charged(shop: Shop) -> None:
    await charged_for_an_order_that_was_cancelled(shop)
    assert "1139.00 UAH was paid" in (problem_text((await shop.aggregate()).payment) or "").replace(",", "")
    shop.gateway.will_answer(json_reply(operation("refund", shop.order_id, TOTAL)))
    await shop.request_action("REFUND", TOTAL)
    await shop.pass_time(minutes=1)
    assert "569.50 UAH was paid" in (problem_text((await shop.aggregate()).payment) or "")


@pytest.mark.law(7)
async def test_the_words_about_a_later_charge_in_another_order(shop: Shop) -> None:
    await subscribed(shop)
    for status in ("failure", "success", "pending"):  # the bank has carried it out after all
        await shop.notify(charge(shop, "second", status))
        await shop.pass_time(minutes=1)
    assert await charges(shop) == [("second", State.SUCCESS, SUM)]
    assert shop.amounts == amounts(charged="1139.00")
    assert not (await shop.aggregate()).payment.has_problems


@pytest.mark.law(10)
async def test_a_release_of_a_later_charge_releases_nothing_of_the_first_payment(shop: Shop) -> None:
    await subscribed(shop)
    await shop.notify(returned(shop, "void", "of-a-stranger", of="foreign"))
    await shop.pass_time(minutes=1)
    assert shop.amounts == amounts(charged=TOTAL)
    kept = await shop.aggregate()
    assert [operation for operation in kept.operations if operation.kind is Kind.VOID] == []
    assert "something that the app does not know (foreign)" in (problem_text(kept.payment) or "")


def deleted_customer(email: str, event: type[CustomerEvent] = CustomerDeleted) -> CustomerEvent:
    """What Saleor says of a customer whom it has deleted."""
    recipient = {"id": "QXBwOjE=", "identifier": "gateway.payments.app"}
    said = {"issuedAt": "2026-11-21T12:00:00+00:00", "version": "3.23.28", "recipient": recipient}
    return event.model_validate({**said, "user": {"id": "VXNlcjox", "email": email}})


async def saleor_deletes(shop: Shop, email: str, event: type[CustomerEvent] = CustomerDeleted) -> None:
    installation = await shop.services.installations.get(shop.installation.id)
    await delete_customer_cards(shop.services, deleted_customer(email, event), installation)


@pytest.mark.law(13)
@pytest.mark.parametrize("event", [CustomerDeleted, AccountDeleted])
async def test_staff_are_told_of_the_subscription_of_a_deleted_customer_until_it_is_cancelled(
    shop: Shop, event: type[CustomerEvent]
) -> None:
    await subscribed(shop)
    shop.saleor.order(shop.transaction)
    await saleor_deletes(shop, "somebody.else@example.com", event)
    await saleor_deletes(shop, "", event)
    assert not (await shop.aggregate()).payment.has_problems
    for _ in range(2):  # Saleor says it twice
        await saleor_deletes(shop, "Taras@example.com", event)
        await shop.work()
        assert await subjects(shop) == [(AlertKind.CHARGED_ON, 1)]
    await shop.notify(charge(shop, "second"))
    await shop.work()
    told = problem_text((await shop.aggregate()).payment) or ""
    assert told.startswith("The customer was deleted in Saleor, but the gateway goes on charging the subscription")
    shop.gateway.will_answer(CANCELLED)
    await cancel_subscription(shop.services, shop.order_id, "olena")
    assert await subjects(shop) == []
    await saleor_deletes(shop, "taras@example.com", event)
    assert await subjects(shop) == []


@pytest.mark.law(13)
async def test_subscription_of_a_deleted_customer_is_cancelled_in_the_merchant_portal_or_reviewed(shop: Shop) -> None:
    await subscribed(shop)
    shop.saleor.order(shop.transaction)
    await saleor_deletes(shop, "taras@example.com")
    await acknowledge_all(shop)
    await saleor_deletes(shop, "taras@example.com")
    assert await subjects(shop) == []
    await shop.notify(payment(shop.order_id, recurring={"id": "rec-1", "status": "canceled"}))
    await shop.work()
    assert not (await shop.aggregate()).payment.has_problems


async def test_payments_without_the_id_of_a_subscription_are_of_none(shop: Shop) -> None:
    """A second payment of the same order is for staff: it is no later charge of a subscription that nobody began."""
    nothing = {"id": "", "status": ""}
    await shop.complete_payment()
    for record in (payment(shop.order_id, recurring=nothing), charge(shop, "second", recurring=nothing)):
        await shop.notify(record)
        await shop.work()
    aggregate = await shop.aggregate()
    assert shop.amounts == amounts(charged=TOTAL)
    assert aggregate.payment.recurring_id is None
    assert "second successful payment" in (problem_text(aggregate.payment) or "")
