"""The gateway notifies us (laws of money, 6 to 8)."""

from decimal import Decimal

import pytest
from sqlalchemy import text
from sqlmodel import col, select

from app.core.notification import OutcomeCode, outcome_from
from app.core.vocabulary import Kind, State
from app.flows.notifications import Receipt, receive
from app.rules.decisions import notification
from app.rules.decisions.notification import outcome_message
from app.rules.details import Details
from app.rules.problems import problem_text
from app.store.accounts import AccountKeys, NewAccount
from app.store.search import notifications_page
from app.store.tables import Notification
from integration_base_tests.loopback import HangUp
from tests.notification_facts import APPLIED
from tests.payments.fake_gateway import operation, payment
from tests.payments.fake_saleor import amounts
from tests.payments.shop import SECRET, TOTAL, Shop, run_concurrently, signed_notification


@pytest.fixture
async def waiting(shop: Shop) -> Shop:
    """A shop whose shopper was led to the payment page."""
    shop.gateway.will_answer(shop.gateway.page())
    await shop.begin()
    await shop.pass_time(seconds=25)
    shop.saleor.reports.clear()
    return shop


async def inbox(shop: Shop) -> list[Notification]:
    """Return all notifications that were kept."""
    async with shop.services.database.transaction() as session:
        return list((await session.exec(select(Notification).order_by(col(Notification.id)))).all())


@pytest.mark.fault("process-killed")
@pytest.mark.law(6)
async def test_it_is_kept_before_it_is_processed(waiting: Shop) -> None:
    assert await waiting.notify(payment(waiting.order_id)) is Receipt.KEPT
    [kept] = await inbox(waiting)
    assert kept.processed_at is None
    assert (await waiting.operation(Kind.CREATE)).state is State.INIT  # nothing was made of it yet
    await waiting.work()
    [kept] = await inbox(waiting)
    assert kept.processed_at == waiting.clock.now
    assert kept.outcome == APPLIED.stored
    assert waiting.saleor.reported_types == ["CHARGE_SUCCESS"]
    assert waiting.amounts == amounts(charged=TOTAL)


@pytest.mark.law(15)
@pytest.mark.parametrize("stated", ["1970-01-01T00:00:00.000", "2026-11-22T01:00:00.000"])
async def test_a_time_that_cannot_be_is_replaced_by_that_of_the_arrival(waiting: Shop, stated: str) -> None:
    """Also where the worker only comes to it the next day, when the gateway's time would be possible."""
    arrival = waiting.clock.now
    await waiting.notify(payment(waiting.order_id, processed_at=stated))
    waiting.clock.forward(hours=24)
    await waiting.work()
    create = await waiting.operation(Kind.CREATE)
    assert (create.state, create.booked_at) == (State.SUCCESS, arrival)


@pytest.mark.fault("notification-repeated")
@pytest.mark.threat("replayed-notification")
@pytest.mark.law(6)
async def test_a_duplicate_is_recognised_by_its_content(waiting: Shop) -> None:
    record = payment(waiting.order_id)
    receipts = [await waiting.notify(record) for _ in range(3)]
    assert receipts == [Receipt.KEPT, Receipt.REPEATED, Receipt.REPEATED]
    await waiting.work()
    assert await waiting.notify(record) is Receipt.REPEATED
    assert await waiting.work() == 0
    [kept] = await inbox(waiting)
    assert (kept.deliveries, kept.attempts) == (4, 1)
    assert waiting.saleor.reported_types == ["CHARGE_SUCCESS"]


@pytest.mark.fault("notification-repeated")
@pytest.mark.threat("replayed-notification")
@pytest.mark.law(6)
async def test_duplicates_at_the_same_moment(waiting: Shop) -> None:
    receipts = await run_concurrently(*(waiting.notify(payment(waiting.order_id)) for _ in range(4)))
    assert sorted(receipt.name for receipt in receipts) == ["KEPT", "REPEATED", "REPEATED", "REPEATED"]
    await waiting.work()
    assert waiting.saleor.reported_types == ["CHARGE_SUCCESS"]


class TestAtTheDoor:
    @pytest.mark.threat("forged-notification")
    @pytest.mark.law(6)
    async def test_forged(self, waiting: Shop) -> None:
        form = signed_notification(payment(waiting.order_id), "another-secret")
        assert await receive(waiting.services, waiting.account.id, form) is Receipt.FORGED
        assert await inbox(waiting) == []

    @pytest.mark.threat("forged-notification", "tampered-amount")
    @pytest.mark.law(6)
    async def test_changed_on_the_way(self, waiting: Shop) -> None:
        genuine, other = (
            signed_notification(payment(waiting.order_id, "failure")),
            signed_notification(payment(waiting.order_id)),
        )
        form = other.partition(b"&")[0] + b"&" + genuine.partition(b"&")[2]
        assert await receive(waiting.services, waiting.account.id, form) is Receipt.FORGED
        assert await inbox(waiting) == []

    @pytest.mark.threat("notification-of-another-account")
    async def test_for_an_account_that_nobody_has(self, waiting: Shop) -> None:
        assert (
            await receive(waiting.services, "nobody", signed_notification(payment(waiting.order_id)))
            is Receipt.UNKNOWN_ACCOUNT
        )

    @pytest.mark.parametrize("form", [b"", b"data=abc", b"{}", b"\xff\xfe", b"data=a&data=b&signature=c"])
    async def test_not_a_notification(self, waiting: Shop, form: bytes) -> None:
        assert await receive(waiting.services, waiting.account.id, form) is Receipt.UNREADABLE
        assert await inbox(waiting) == []

    @pytest.mark.fault("poison")
    async def test_signed_but_not_a_record(self, waiting: Shop) -> None:
        assert (
            await receive(waiting.services, waiting.account.id, signed_notification({"hello": "world"}))
            is Receipt.UNREADABLE
        )

    @pytest.mark.fault("key-lost")
    async def test_it_comes_again_while_the_accounts_keys_do_not_open(self, waiting: Shop) -> None:
        form = signed_notification(payment(waiting.order_id))
        for before, after, receipt in (("v1.", "v1.lost-", Receipt.UNVERIFIED), ("v1.lost-", "v1.", Receipt.KEPT)):
            async with waiting.services.database.transaction() as session:
                change = text("UPDATE merchant_account SET api_key_sealed = replace(api_key_sealed, :before, :after)")
                await (await session.connection()).execute(change, {"before": before, "after": after})
            waiting.clock.forward(seconds=2)  # what is remembered of the account is forgotten
            assert await receive(waiting.services, waiting.account.id, form) is receipt

    async def test_signed_with_the_secret_that_was_changed_a_moment_ago(self, waiting: Shop) -> None:
        for secret in ("a-mistyped-secret", "the-new-secret"):  # each within the grace of the one before it
            await waiting.services.accounts.change_keys(waiting.account.id, api_secret=secret)
        for secret in (SECRET, "a-mistyped-secret", "the-new-secret"):
            form = signed_notification(payment(waiting.order_id, payload=secret), secret)
            assert await receive(waiting.services, waiting.account.id, form) is Receipt.KEPT

    @pytest.mark.threat("leaked-key")
    async def test_a_day_later_the_secret_that_was_changed_verifies_nothing(self, waiting: Shop) -> None:
        changed = await waiting.services.accounts.change_keys(waiting.account.id, api_secret="the-new-secret")
        waiting.services.gateways.client(changed)  # is kept with all secrets of that moment: it verifies nothing
        waiting.clock.forward(hours=24)
        kinds = {SECRET: Receipt.FORGED, "the-new-secret": Receipt.KEPT}
        for secret, receipt in kinds.items():
            assert (
                await receive(
                    waiting.services, waiting.account.id, signed_notification(payment(waiting.order_id), secret)
                )
                is receipt
            )


async def test_an_account_that_is_switched_off_still_hears_of_its_payments(waiting: Shop) -> None:
    await waiting.services.accounts.change(waiting.account.id, enabled=False)
    await waiting.notify(payment(waiting.order_id))
    await waiting.work()
    assert waiting.amounts == amounts(charged=TOTAL)


async def test_an_order_that_is_not_ours_is_kept_and_left_alone(waiting: Shop) -> None:
    await waiting.notify(payment("somebody-elses-order"))
    await waiting.work()
    [kept] = await inbox(waiting)
    assert kept.outcome == OutcomeCode.UNMATCHED
    assert waiting.saleor.reports == []


@pytest.mark.threat("notification-of-another-account")
@pytest.mark.law(6)
async def test_an_order_of_another_account_cannot_be_spoken_for(waiting: Shop) -> None:
    """Whoever holds the keys of one point of sale must not be able to pay the orders of another."""
    other = await waiting.services.accounts.add(
        NewAccount(
            installation_id=waiting.installation.id,
            name="Other",
            pos_id="9d6f1a2e-0000-4f6f-9c2c-1f6f0f1d3a11",
            base_url=waiting.gateway.url,
            scheme_word="CPAY",
            keys=AccountKeys(api_key="k", api_secret="other-secret", endpoints_key="e"),
            currencies=["UAH"],
            storefront_origins=[],
        )
    )
    form = signed_notification(payment(waiting.order_id), "other-secret")
    assert await receive(waiting.services, other.id, form) is Receipt.KEPT
    await waiting.work()
    assert waiting.saleor.reports == []
    assert (await waiting.operation(Kind.CREATE)).state is State.INIT


async def test_a_kind_of_operation_that_no_payment_has_is_left_alone(waiting: Shop) -> None:
    await waiting.notify(payment(waiting.order_id, method="lookup"))
    await waiting.work()
    [kept] = await inbox(waiting)
    assert kept.outcome == "nothing-to-do lookup"
    assert (await waiting.operation(Kind.CREATE)).state is State.INIT


@pytest.mark.fault("poison")
@pytest.mark.law(6)
async def test_processing_can_fail_and_is_done_again(waiting: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing of the failed attempt stays; the notification does."""

    def broken(*_: object) -> None:
        raise RuntimeError("the disk is full")

    with monkeypatch.context() as patched:
        patched.setattr(notification, "apply", broken)
        await waiting.notify(payment(waiting.order_id))
        await waiting.work()
    [kept] = await inbox(waiting)
    assert (kept.outcome, kept.attempts) == ("failed RuntimeError", 1)
    assert kept.processed_at is None
    assert kept.next_attempt_at is not None
    assert kept.next_attempt_at > waiting.clock.now
    assert waiting.saleor.reports == []
    await waiting.pass_time(seconds=10)
    [kept] = await inbox(waiting)
    assert kept.outcome == APPLIED.stored
    assert waiting.amounts == amounts(charged=TOTAL)


@pytest.mark.law(7)
class TestForwardOnly:
    @pytest.mark.fault("notification-out-of-order")
    @pytest.mark.threat("replayed-notification")
    @pytest.mark.parametrize("order", [("init", "pending", "success"), ("success", "pending", "init")])
    async def test_whatever_the_order_in_which_they_come(self, waiting: Shop, order: tuple[str, ...]) -> None:
        """Every order, on paper: ``decisions/test_notification.py``."""
        for status in order:
            await waiting.notify(payment(waiting.order_id, status))
            await waiting.work()
        assert [event_type for event_type in waiting.saleor.reported_types if event_type != "INFO"] == [
            "CHARGE_SUCCESS"
        ]
        assert waiting.amounts == amounts(charged=TOTAL)
        assert waiting.transaction.actions == ["REFUND"]

    async def test_a_failure_after_a_success_is_for_a_person_to_look_at(self, waiting: Shop) -> None:
        await waiting.notify(payment(waiting.order_id))
        await waiting.work()
        await waiting.notify(payment(waiting.order_id, "failure"))
        await waiting.work()
        assert waiting.saleor.reported_types == ["CHARGE_SUCCESS", "INFO"]
        assert "first reported success and now reports failure" in (
            problem_text((await waiting.aggregate()).payment) or ""
        )
        assert waiting.amounts == amounts(charged=TOTAL)

    @pytest.mark.fault("notification-out-of-order")
    @pytest.mark.law(10)
    async def test_the_word_of_the_capture_can_come_before_that_of_the_reservation(self, shop: Shop) -> None:
        shop.gateway.will_answer(shop.gateway.page())
        await shop.begin(flow="AUTHORIZATION")
        await shop.notify(operation("capture", shop.order_id, "500.00", operation_id="auto-1"))
        await shop.work()
        await shop.notify(payment(shop.order_id, method="auth"))
        await shop.work()
        assert shop.amounts == amounts(charged="500.00", canceled="69.50")
        assert shop.transaction.actions == ["REFUND"]


@pytest.mark.law(8)
class TestTrustThenCompare:
    @pytest.mark.threat("tampered-amount")
    async def test_what_does_not_agree_is_never_a_success(self, waiting: Shop) -> None:
        """Whatever it is that does not agree, on paper: ``decisions/test_notification.py``."""
        wrong = {"amount": Decimal("569.49")}
        await waiting.notify(payment(waiting.order_id) | wrong)
        await waiting.work()
        [report] = waiting.saleor.reports
        assert report.type == "INFO"
        assert "569.49 UAH, but 569.50 UAH was requested" in (report.message or "")
        assert problem_text((await waiting.aggregate()).payment) == report.message
        assert waiting.amounts == amounts()
        await waiting.notify(payment(waiting.order_id) | wrong | {"payload": "again"})
        await waiting.work()
        assert len(waiting.saleor.reports) == 1  # the same problem is told once

    async def test_the_same_point_of_sale_and_currency_in_other_letters(self, waiting: Shop) -> None:
        record = payment(waiting.order_id)
        await waiting.notify(record | {"pos_id": record["pos_id"].upper(), "currency": "uah"})
        await waiting.work()
        assert waiting.saleor.reported_types == ["CHARGE_SUCCESS"]

    @pytest.mark.parametrize("paid", ["500.00", "600.00"])
    async def test_where_the_shopper_may_change_the_amount_saleor_hears_what_was_paid(
        self, waiting: Shop, paid: str
    ) -> None:
        record = payment(waiting.order_id, processed_amount=Decimal(paid), processed_currency="UAH")
        await waiting.notify(record)
        await waiting.work()
        assert waiting.amounts == amounts(charged=paid)
        assert (await waiting.request_action("REFUND", "600.01")).result == "REFUND_FAILURE"  # more than either

    @pytest.mark.parametrize("status", ["init", "pending"])
    async def test_what_is_not_paid_yet_is_no_other_amount(self, waiting: Shop, status: str) -> None:
        """Nothing has been paid by then, and the notification of the success is lost: a look-up finds it."""
        record = payment(waiting.order_id, status, processed_amount=0, processed_currency="UAH")
        await waiting.notify(record)
        await waiting.pass_time(minutes=1)
        aggregate = await waiting.aggregate()
        assert problem_text(aggregate.payment) is None
        assert Details.from_row(aggregate.create.details).processed is None
        waiting.gateway.book[waiting.order_id] = [
            record | {"status": "success", "status_code": "1000", "processed_amount": Decimal("500.00")}
        ]
        await waiting.pass_time(minutes=10)
        assert waiting.amounts == amounts(charged="500.00")

    async def test_another_amount_paid_than_is_booked_is_put_to_staff(self, waiting: Shop) -> None:
        record = payment(waiting.order_id)
        for words in (record, record | {"processed_amount": Decimal("500.00"), "processed_currency": "UAH"}):
            await waiting.notify(words)
            await waiting.work()
        assert waiting.amounts == amounts(charged=TOTAL)
        found = problem_text((await waiting.aggregate()).payment) or ""
        assert "a payment of 500.00 UAH where ours have 569.50 UAH" in found

    async def test_a_failure_moves_nothing_whatever_amount_it_names(self, waiting: Shop) -> None:
        await waiting.notify(payment(waiting.order_id, "failure", amount="0"))
        await waiting.work()
        [report] = waiting.saleor.reports
        assert (report.type.value, report.amount) == ("CHARGE_FAILURE", Decimal(TOTAL))


async def test_the_card_is_told_as_far_as_anybody_may_know_it(waiting: Shop) -> None:
    token = "tok-secret-of-the-card"
    await waiting.notify(payment(waiting.order_id, cc_mask="545454******5454", cc_token=token))
    await waiting.work()
    [report] = waiting.saleor.reports
    assert report.payment_method_details is not None
    assert report.payment_method_details.name == "Mastercard ****5454"
    aggregate = await waiting.aggregate()
    assert token not in str(aggregate)
    [kept] = await inbox(waiting)
    assert token not in str(kept)


async def test_notifications_during_an_unknown_creation(shop: Shop) -> None:
    """The answer got lost, the notification did not."""
    shop.gateway.will_answer(HangUp())
    await shop.begin()
    await shop.notify(payment(shop.order_id))
    await shop.pass_time(minutes=1)
    assert shop.saleor.reported_types[-1] == "CHARGE_SUCCESS"
    assert shop.amounts == amounts(charged=TOTAL)
    assert (await shop.process_session()).result == "CHARGE_SUCCESS"


@pytest.mark.law(8)
async def test_the_amount_that_was_asked_is_compared_also_where_the_shopper_may_change_it(shop: Shop) -> None:
    """`processed_amount` is the one that may differ; `amount` is what the payment was made for."""
    shop.gateway.will_answer(shop.gateway.page())
    await shop.begin()
    await shop.notify(payment(shop.order_id, amount="1.00", processed_amount="1.00", processed_currency="UAH"))
    await shop.work()
    aggregate = await shop.aggregate()
    assert aggregate.create.state is State.INIT
    assert problem_text(aggregate.payment) == "The gateway reports 1.00 UAH, but 569.50 UAH was requested."
    assert shop.amounts == amounts()


@pytest.mark.parametrize("sentence", ["create success", "for review: refund success", "no key decrypts it"])
def test_what_earlier_versions_stored_is_read_as_it_is(sentence: str) -> None:
    assert outcome_from(sentence).stored == sentence
    assert outcome_message(outcome_from(sentence)) == sentence


async def test_notifications_of_unknown_orders_are_found_whichever_version_stored_them(shop: Shop) -> None:
    for order in ("a", "b", "c"):
        await shop.notify(payment(order * 32))
    await shop.work()
    async with shop.services.database.transaction() as session:
        first, second, _ = (await session.exec(select(Notification).order_by(col(Notification.id)))).all()
        first.outcome, second.outcome = "no payment of ours has this order", "create success"
    async with shop.services.database.transaction() as session:
        found = await notifications_page(session, unmatched=True, most=10, after=None)
    assert [row.outcome for row in found] == ["unmatched", "no payment of ours has this order"]
