"""Money goes out to a card once, whatever happens on the way (laws of money, 1 to 4, 6 to 8, 13, 14)."""

import json
from decimal import Decimal
from typing import Any

import pytest
from sqlalchemy import text
from sqlmodel import SQLModel, select

from app.core.payment import PaymentAggregate
from app.core.vocabulary import Flow, Kind, State
from app.flows.pay_out import ConfirmedPayout, PayoutCard, pay_out
from app.flows.staff.manual_resolution import acknowledge_problems
from app.reports.status import pending_steps, standing
from app.reports.timeline import timeline
from app.rules.balance import balance
from app.rules.cards.card_form import PaymentInstrument
from app.rules.problems import problem_text
from app.rules.requests.payout import PayoutRefusedError
from app.store.aggregates import ByOrder
from app.store.repository import PaymentRepository
from app.store.search import PaymentFilter, PaymentNames, find_by_name, payments_page
from app.store.tables import SaleorEvent
from app.web.shopper.view_builder import find_view as find_for_shopper
from integration_base_tests.loopback import Behaviour, HangUp, ReceivedRequest, json_reply
from tests.payments.cards.seals import NUMBER
from tests.payments.fake_gateway import BROKEN, refusal_reply
from tests.payments.payouts import (
    MASK,
    NAME,
    OTHER,
    STAFF,
    a_payout,
    audit_of,
    enable_payouts,
    order_of,
    payout_record,
    recorded,
)
from tests.payments.shop import Shop, run_concurrently
from tests.saved_cards import card_to_save, save_card


@pytest.fixture
async def shop(shop: Shop) -> Shop:
    """A shop whose owner lets staff pay out to cards."""
    await enable_payouts(shop)
    return shop


async def sent(shop: Shop, wish: ConfirmedPayout) -> PaymentAggregate:
    return await pay_out(shop.services, shop.account, wish)


async def sent_unless_too_much(shop: Shop, wish: ConfirmedPayout) -> PaymentAggregate | None:
    """Send it; return None, with nothing recorded and nothing asked of the gateway, when the limit refuses it."""
    refusals = []
    try:
        return await sent(shop, wish)
    except PayoutRefusedError as refusal:
        refusals.append(refusal)
    assert [list(refusal.errors) for refusal in refusals] == [["amount"]]
    assert await shop.services.payments.find(ByOrder(order_of(wish))) is None
    return None


async def test_a_card_is_paid_and_the_gateway_is_asked_for_everything_that_a_payout_takes(shop: Shop) -> None:
    wish = a_payout(shop)
    shop.gateway.will_answer(json_reply(payout_record(wish)))
    aggregate = await sent(shop, wish)
    assert (aggregate.payment.flow, standing(aggregate)) == (Flow.PAYOUT, "paid out")
    [request] = shop.gateway.requests
    assert request.path == "/api/v1/payment"
    properties = {"recipient_first_name": NAME, "recipient_last_name": "Павличко", "recipient_doc_number": "АБ123456"}
    assert request.json == {
        "pos_id": shop.account.pos_id,
        "mode": "direct",
        "method": "credit",
        "amount": Decimal("100.00"),
        "currency": "UAH",
        "description": "A prize",
        "order_id": order_of(wish),
        "order_3ds_bypass": "supported",
        "cc_number": NUMBER,
        "customer_ip": "203.0.113.8",
        "customer_fname": NAME,
        "customer_lname": "Павличко",
        "properties": properties,
        "server_url": f"https://pay.example.com/api/webhooks/gateway/{shop.account.id}",
    }


@pytest.mark.threat("dishonest-staff")
async def test_who_asked_and_who_confirmed_is_kept_with_when_and_from_where(shop: Shop) -> None:
    wish = a_payout(shop)
    shop.gateway.will_answer(json_reply(payout_record(wish)))
    kept = await audit_of(shop, await sent(shop, wish))
    assert (kept.asked_by, kept.asked_at, kept.asked_from) == (STAFF, wish.requested.at, "203.0.113.7")
    assert (kept.confirmed_by, kept.confirmed_at, kept.confirmed_from) == (OTHER, shop.clock.now, "203.0.113.8")
    assert kept.card_mask == MASK


@pytest.mark.law(1)
async def test_when_the_call_arrives_the_intent_is_there_with_everything_but_the_card(shop: Shop) -> None:
    wish, seen = a_payout(shop), []

    async def look(request: ReceivedRequest) -> None:
        aggregate = await recorded(shop, wish)
        told = shop.services.personal.open_request(aggregate.payment.transaction_id, aggregate.create)
        seen.append((aggregate.create.state, set(request.json) - set(told), await audit_of(shop, aggregate)))

    shop.gateway.on_request = look
    shop.gateway.will_answer(json_reply(payout_record(wish)))
    await sent(shop, wish)
    [(state, lacking, _)] = seen
    assert (state, lacking) == (State.INTENT, {"pos_id", "cc_number"})


async def test_no_column_has_the_card_and_none_in_clear_the_recipient(shop: Shop) -> None:
    wish = a_payout(shop)
    shop.gateway.will_answer(json_reply(payout_record(wish)))
    await sent(shop, wish)
    async with shop.services.database.transaction() as session:
        rows = [
            str(dict(row._mapping))
            for table in SQLModel.metadata.tables
            for row in (await session.exec(text(f'SELECT * FROM "{table}"'))).all()  # type: ignore[call-overload] # noqa: S608 - our own names
        ]
    everything = "\n".join(rows) + json.dumps(rows)
    assert "A prize" in everything
    for secret in (NUMBER, NAME, json.dumps(NAME)[1:-1], "АБ123456", "Павличко"):
        assert secret not in everything


@pytest.mark.law(4)
async def test_the_same_wish_twice_is_one_payout(shop: Shop) -> None:
    """A double click, a repeated submit, two browsers with the same review."""
    wish = a_payout(shop)
    shop.gateway.will_answer(json_reply(payout_record(wish)))
    first, again = await run_concurrently(sent(shop, wish), sent(shop, wish))
    later = await sent(shop, wish)
    assert first.payment.order_id == again.payment.order_id == later.payment.order_id
    assert shop.gateway.calls == ["payment"]


@pytest.mark.law(2)
@pytest.mark.parametrize("answer", [BROKEN, HangUp()])
async def test_an_answer_that_is_lost_is_looked_up_and_never_asked_for_again(shop: Shop, answer: Behaviour) -> None:
    wish = a_payout(shop)
    shop.gateway.will_answer(answer)
    assert standing(await sent(shop, wish)) == "not known yet"
    shop.gateway.book[order_of(wish)] = [payout_record(wish)]
    await shop.pass_time(minutes=1)
    assert standing(await recorded(shop, wish)) == "paid out"
    assert shop.gateway.calls == ["payment"]


@pytest.mark.law(4)
async def test_one_confirmed_twice_at_once_does_not_take_the_limit_from_itself(shop: Shop) -> None:
    wish = a_payout(shop, "1000.00")  # of 1500 in a day
    shop.gateway.will_answer(json_reply(payout_record(wish)))
    await run_concurrently(sent(shop, wish), sent(shop, wish), sent(shop, wish))
    assert shop.gateway.calls == ["payment"]


@pytest.mark.law(2)
async def test_what_never_arrived_has_failed_once_the_gateway_has_shown_nothing_for_long_enough(shop: Shop) -> None:
    wish = a_payout(shop)
    shop.gateway.will_answer(HangUp())
    await sent(shop, wish)
    await shop.pass_time(minutes=14)
    assert (await recorded(shop, wish)).create.state is State.UNKNOWN
    await shop.pass_time(minutes=5)
    create = (await recorded(shop, wish)).create
    assert (create.state, create.inferred) == (State.FAILURE, True)
    assert shop.gateway.calls == ["payment"]


@pytest.mark.law(7)
@pytest.mark.law(13)
@pytest.mark.parametrize("said", ["nothing", "failure"])
async def test_one_that_had_failed_and_is_made_after_all_is_shown_to_staff_who_may_have_repeated_it(
    shop: Shop, said: str
) -> None:
    """Saleor knows of no payout, so nobody would learn of it; the list says that it was paid out, among others."""
    wish, again = a_payout(shop), a_payout(shop)
    shop.gateway.will_answer(HangUp() if said == "nothing" else json_reply(payout_record(wish, "failure")))
    await sent(shop, wish)
    await shop.pass_time(minutes=20)
    assert standing(await recorded(shop, wish)) == "failed"
    shop.gateway.will_answer(json_reply(payout_record(again)))
    assert standing(await sent(shop, again)) == "paid out"
    await shop.notify(payout_record(wish))
    await shop.work()
    assert standing(await recorded(shop, wish)) == "paid out"
    told = "A payout of 100.00 UAH had failed, and was made after all: if it was requested again, it was made twice."
    assert problem_text((await recorded(shop, wish)).payment) == told
    await shop.notify(payout_record(wish, status_description="once more"))
    await shop.pass_time(minutes=2)
    assert await acknowledge_problems(shop.services, shop.installation.id, order_of(wish)) == (told,)
    assert [problem_text((await recorded(shop, one)).payment) for one in (wish, again)] == [None, None]


@pytest.mark.law(2)
async def test_the_process_that_died_around_the_call_has_paid_out_if_the_gateway_says_so(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Killed(BaseException):
        pass

    async def killed(*_: object, **__: object) -> None:
        raise Killed

    wish = a_payout(shop)
    shop.gateway.book[order_of(wish)] = [payout_record(wish)]
    shop.gateway.will_answer(json_reply(payout_record(wish)))
    with monkeypatch.context() as dying:
        dying.setattr(PaymentRepository, "record_of_attempt", killed)  # by which the outcome would be recorded
        with pytest.raises(Killed):
            await sent(shop, wish)
    assert (await recorded(shop, wish)).create.state is State.INTENT
    await shop.pass_time(minutes=1)
    assert standing(await recorded(shop, wish)) == "paid out"
    assert shop.gateway.calls == ["payment"]


@pytest.mark.law(6)
@pytest.mark.law(7)
async def test_a_notification_that_comes_first_is_the_outcome_and_a_late_one_changes_nothing(shop: Shop) -> None:
    wish = a_payout(shop)

    async def notify_first(request: ReceivedRequest) -> None:
        shop.gateway.on_request = None
        await shop.notify(payout_record(wish))
        await shop.work()

    shop.gateway.on_request = notify_first
    shop.gateway.will_answer(json_reply(payout_record(wish, "pending")))
    assert standing(await sent(shop, wish)) == "paid out"
    await shop.notify(payout_record(wish, "pending", status_code="2119"))
    await shop.work()
    aggregate = await recorded(shop, wish)
    assert standing(aggregate) == "paid out"
    assert not aggregate.payment.has_problems


async def test_one_at_the_bank_is_looked_up_until_it_is_known(shop: Shop) -> None:
    wish = a_payout(shop)
    shop.gateway.will_answer(json_reply(payout_record(wish, "pending")))
    assert standing(await sent(shop, wish)) == "waiting for the bank"
    shop.gateway.book[order_of(wish)] = [payout_record(wish, "failure", status_code="4009")]
    await shop.pass_time(minutes=5)
    assert standing(await recorded(shop, wish)) == "failed"


@pytest.mark.law(8)
@pytest.mark.parametrize("differs", [{"amount": "1000.00"}, {"currency": "EUR"}, {"method": "purchase"}])
async def test_what_does_not_agree_is_no_success_but_a_problem(shop: Shop, differs: dict[str, Any]) -> None:
    wish = a_payout(shop)
    record = payout_record(wish)
    record |= {name: Decimal(value) if name == "amount" else value for name, value in differs.items()}
    shop.gateway.will_answer(json_reply(record))
    aggregate = await sent(shop, wish)
    assert aggregate.create.state is State.UNKNOWN
    assert "The gateway reports" in (problem_text(aggregate.payment) or "")


@pytest.mark.law(8)
@pytest.mark.parametrize("status", ["success", "pending"])
async def test_a_payout_to_another_card_than_the_one_asked_for_is_no_success_but_a_problem(
    shop: Shop, status: str
) -> None:
    wish = a_payout(shop, "900.00")
    shop.gateway.will_answer(json_reply(payout_record(wish, status, cc_mask="555555******4444")))
    aggregate = await sent(shop, wish)
    assert aggregate.create.state is State.UNKNOWN
    assert "The gateway reports the card 555555******4444, but the payout was requested to 424242******4242" in (
        problem_text(aggregate.payment) or ""
    )
    assert await sent_unless_too_much(shop, a_payout(shop, "900.00")) is None  # it has perhaps been paid out


@pytest.mark.parametrize(
    "mask",
    ["424242xxxxxx4242", "4242 42** **** 4242", "42424242****4242", "4242**4242", "****4242", "", None, "unknown"],
)
async def test_the_same_card_in_another_spelling_and_one_that_is_not_named_are_no_other_card(
    shop: Shop, mask: str | None
) -> None:
    wish = a_payout(shop)
    shop.gateway.will_answer(json_reply(payout_record(wish, cc_mask=mask)))
    aggregate = await sent(shop, wish)
    assert (standing(aggregate), problem_text(aggregate.payment)) == ("paid out", None)


async def test_a_payout_to_another_card_that_failed_has_moved_nothing(shop: Shop) -> None:
    wish = a_payout(shop)
    shop.gateway.will_answer(json_reply(payout_record(wish, "failure", cc_mask="555555******4444")))
    aggregate = await sent(shop, wish)
    assert (standing(aggregate), problem_text(aggregate.payment)) == ("failed", None)


async def test_a_payment_that_the_gateway_calls_a_payout_is_no_success(shop: Shop) -> None:
    """The reverse: what a shopper pays is never booked by the record of a payout."""
    shop.gateway.will_answer(shop.gateway.page())
    await shop.begin()
    record = payout_record(a_payout(shop, "569.50"))
    await shop.notify(record | {"order_id": shop.order_id, "mode": "hosted"})
    await shop.work()
    aggregate = await shop.aggregate()
    assert aggregate.create.state is not State.SUCCESS
    assert "it was created as CHARGE" in (problem_text(aggregate.payment) or "")


async def test_nobody_waits_for_the_shopper_of_a_payout(shop: Shop) -> None:
    """The gateway asks for 3-D Secure: the bank decides what becomes of it, or it runs out."""
    wish = a_payout(shop)
    asks: dict[str, Any] = {
        "status_code": "2102",
        "user_action_required": True,
        "user_action_url": "https://acs.example",
    }
    shop.gateway.will_answer(json_reply(payout_record(wish, "pending", **asks)))
    aggregate = await sent(shop, wish)
    assert standing(aggregate) == "waiting for the bank"
    assert not any("shopper" in step.words for step in pending_steps(aggregate, ()))


async def test_the_gateway_refuses_it(shop: Shop) -> None:
    wish = a_payout(shop)
    shop.gateway.will_answer(refusal_reply("Invalid operation", "4150"))
    aggregate = await sent(shop, wish)
    assert standing(aggregate) == "failed"
    assert "4150" in (aggregate.create.message or "")


@pytest.mark.law(5)
async def test_saleor_is_told_nothing_and_nothing_can_be_asked_of_it(shop: Shop) -> None:
    wish = a_payout(shop)
    shop.gateway.will_answer(json_reply(payout_record(wish) | {"amount": Decimal(1)}), json_reply(payout_record(wish)))
    aggregate = await sent(shop, wish)  # with a problem, of which Saleor hears at other payments
    assert balance(aggregate.payment.flow, aggregate.operations).actions == ()
    wish = a_payout(shop)
    shop.gateway.will_answer(json_reply(payout_record(wish)))
    assert balance(Flow.PAYOUT, (await sent(shop, wish)).operations).actions == ()
    await shop.pass_time(minutes=5)
    assert shop.saleor.reports == []
    async with shop.services.database.transaction() as session:
        assert (await session.exec(select(SaleorEvent))).all() == []


@pytest.mark.threat("dishonest-staff")
@pytest.mark.law(14)
async def test_the_limit_of_a_day_holds_for_any_24_hours_and_however_many_are_sent_at_once(shop: Shop) -> None:
    wishes = [a_payout(shop, "600.00") for _ in range(4)]
    by_order = {order_of(confirmed_payout): confirmed_payout for confirmed_payout in wishes}

    def answer(request: ReceivedRequest) -> Behaviour:
        return json_reply(payout_record(by_order[request.json["order_id"]]))

    shop.gateway.answer = answer  # type: ignore[method-assign] # whichever comes
    done = await run_concurrently(*(sent_unless_too_much(shop, confirmed_payout) for confirmed_payout in wishes))
    paid = [aggregate for aggregate in done if aggregate is not None]
    assert [aggregate.create.state for aggregate in paid] == [State.SUCCESS] * 2  # 1500 in a day: no more, no less
    assert len(shop.gateway.calls) == 2
    wish = a_payout(shop, "300.00")  # what is left of it
    by_order[order_of(wish)] = wish
    assert standing(await sent(shop, wish)) == "paid out"
    assert await sent_unless_too_much(shop, a_payout(shop, "0.01")) is None
    assert len(shop.gateway.calls) == 3
    shop.clock.forward(hours=24)
    wish = a_payout(shop, "600.00")
    by_order[order_of(wish)] = wish
    assert standing(await sent(shop, wish)) == "paid out"


async def test_one_of_which_nobody_knows_the_outcome_counts_and_one_that_has_failed_does_not(shop: Shop) -> None:
    unknown, failing, next_ = (a_payout(shop, "900.00") for _ in range(3))
    shop.gateway.will_answer(HangUp())
    await sent(shop, unknown)
    assert await sent_unless_too_much(shop, failing) is None
    await shop.pass_time(minutes=20)
    assert (await recorded(shop, unknown)).create.state is State.FAILURE
    shop.gateway.will_answer(json_reply(payout_record(next_)))
    assert standing(await sent(shop, next_)) == "paid out"


async def test_a_saved_card_that_the_gateway_takes_no_more_is_offered_no_more(shop: Shop) -> None:
    saved = shop.services.saved_cards
    await sent_once(shop)
    kept = card_to_save(saved, shop.account, "VXNlcjo3", token="tok_1", mask=MASK, now=shop.clock.now)
    row = await save_card(shop.services.database, kept)
    shop.clock.forward(minutes=1)
    wish = a_payout(shop, card=PayoutCard(PaymentInstrument({"cc_token": "tok_1"}), MASK, row))
    shop.gateway.will_answer(json_reply(payout_record(wish, "failure", status_code="4001")))
    await sent(shop, wish)
    asked = shop.gateway.requests[-1].json
    assert (asked["cc_token"], asked["customer_id"], "cc_number" in asked) == ("tok_1", "VXNlcjo3", False)
    assert not await saved.usable_cards(shop.installation.id, shop.account.id, "VXNlcjo3", shop.clock.now)


async def sent_once(shop: Shop) -> PaymentAggregate:
    wish = a_payout(shop)
    shop.gateway.will_answer(json_reply(payout_record(wish)))
    return await sent(shop, wish)


async def test_what_the_gateway_could_not_take_is_refused_before_anything_is_recorded(shop: Shop) -> None:
    wish = a_payout(shop, card=PayoutCard(PaymentInstrument({"cc_number": "4111"}), MASK))
    with pytest.raises(PayoutRefusedError) as refusal:
        await sent(shop, wish)
    assert "4111" not in str(refusal.value)
    assert refusal.value.__cause__ is None
    assert await shop.services.payments.find(ByOrder(order_of(wish))) is None


@pytest.mark.law(13)
async def test_one_that_is_open_for_a_day_is_put_to_people(shop: Shop) -> None:
    wish = a_payout(shop)
    shop.gateway.will_answer(json_reply(payout_record(wish, "pending")))
    await sent(shop, wish)
    shop.gateway.book[order_of(wish)] = [payout_record(wish, "pending")]
    await shop.pass_time(hours=26)
    assert "the outcome of the" in str(problem_text((await recorded(shop, wish)).payment))


async def test_its_timeline_tells_who_wanted_it_and_what_became_of_it(shop: Shop) -> None:
    aggregate = await sent_once(shop)
    told = [str(entry.words) for entry in timeline(aggregate, [])]
    assert told[0] == "requests a payout of 100.00 UAH to a card"
    assert f"asks in the app to pay 100.00 UAH out to a card ({OTHER})" in told
    assert any(text.startswith("responds that the payout succeeded") for text in told)


async def test_no_shopper_sees_it(shop: Shop) -> None:
    aggregate = await sent_once(shop)
    assert await find_for_shopper(shop.services, aggregate.payment.order_id) is None


async def test_it_is_in_no_list_of_payments_but_found_by_its_names(paid_shop: Shop) -> None:
    await enable_payouts(paid_shop)
    wish = a_payout(paid_shop)
    paid_shop.gateway.will_answer(json_reply(payout_record(wish) | {"amount": Decimal(1)}))
    order_id = (await sent(paid_shop, wish)).payment.order_id
    async with paid_shop.services.database.transaction() as session:
        listed = await payments_page(session, PaymentFilter(installation_id=paid_shop.installation.id), most=10)
        problems = await payments_page(session, PaymentFilter(problems=True), most=10)
        of_both = await payments_page(session, PaymentFilter(problems=True, payouts=True), most=10)
        named = await find_by_name(session, PaymentNames(exact=[order_id]))
    assert [payment.order_id for payment in listed] == [paid_shop.order_id]
    assert problems == []
    assert [payment.order_id for payment in of_both] == [payment.order_id for payment in named] == [order_id]


async def test_it_is_no_attempt_to_pay_the_order_that_it_is_about(paid_shop: Shop) -> None:
    await enable_payouts(paid_shop)
    about = (await paid_shop.aggregate()).payment.id
    wish = a_payout(paid_shop, for_payment_id=about)
    paid_shop.gateway.will_answer(json_reply(payout_record(wish)))
    aggregate = await sent(paid_shop, wish)
    assert (await audit_of(paid_shop, aggregate)).for_payment_id == about
    assert (await paid_shop.aggregate()).payment.has_rivals is False
    assert [operation.kind for operation in aggregate.operations] == [Kind.CREATE]
