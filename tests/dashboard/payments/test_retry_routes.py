"""Staff let things be told and worked on again, and look at what was said word for word."""

from sqlmodel import select

from app.core.alerts import AlertKind
from app.core.vocabulary import EventState
from app.rules.problems import Cause
from app.store.tables import Notification, SaleorEvent
from integration_base_tests.loopback import json_reply
from tests.commands.books import event, moment_after, notification, operation
from tests.commands.conftest import one_database
from tests.dashboard.dashboard_app import StaffClient
from tests.dashboard.payments.test_payment_page import text
from tests.payments.fake_gateway import BROKEN, payment


async def test_saleor_is_told_again_what_it_refused(staff_client: StaffClient) -> None:
    refused = event("REFUND_SUCCESS", EventState.REFUSED, last_error="INVALID")
    kept = await staff_client.payment(1, events=[event(), refused])
    page = text(await staff_client.see(f"/payments/{kept.order_id}"))
    assert "Saleor has refused or not received something that the app sent." in page
    assert "The events are being sent to Saleor again" in text(
        await staff_client.do(f"/payments/{kept.order_id}/tell-again")
    )
    async with staff_client.services.database.transaction() as session:
        rows = (await session.exec(select(SaleorEvent))).all()
    assert {row.type: row.state for row in rows} == {
        "CHARGE_SUCCESS": EventState.DELIVERED,
        "REFUND_SUCCESS": EventState.WAITING,
    }


@one_database
async def test_what_saleor_has_is_not_offered_to_be_told_again(staff_client: StaffClient) -> None:
    kept = await staff_client.payment(1, events=[event()])
    assert "Send to Saleor again" not in text(await staff_client.see(f"/payments/{kept.order_id}"))
    assert "nothing that Saleor has refused" in text(await staff_client.do(f"/payments/{kept.order_id}/tell-again"))


async def test_a_notification_that_failed_is_worked_on_again(staff_client: StaffClient) -> None:
    shop = staff_client.shop
    shop.gateway.will_answer(shop.gateway.page())
    await shop.begin()
    await shop.notify(payment(shop.order_id))
    async with shop.services.database.transaction() as session:
        row = (await session.exec(select(Notification))).one()
        row.outcome, row.attempts, row.next_attempt_at = "OperationalError", 3, moment_after(hours=1)
    assert "could not be processed" in text(await staff_client.see(f"/payments/{shop.order_id}"))
    page = text(await staff_client.do(f"/payments/{shop.order_id}/work-again"))
    assert "The notifications were processed again." in page
    assert "Payment of 569.50 UAH paid" in page
    assert "Not delivered" not in page


@one_database
async def test_the_gateway_notifies_again(staff_client: StaffClient) -> None:
    shop = staff_client.shop
    await shop.complete_payment()
    shop.gateway.will_answer_look_ups(json_reply([payment(shop.order_id)]))
    assert "arrive in a moment" in text(await staff_client.do(f"/payments/{shop.order_id}/notify-again"))
    assert [request.path.rpartition(shop.order_id)[1] for request in shop.gateway.requests] == [shop.order_id]


@one_database
async def test_what_was_said_word_for_word_is_fetched_when_it_is_unfolded(staff_client: StaffClient) -> None:
    kept = await staff_client.payment(1, operations=[operation()], events=[event()], notifications=[notification()])
    page = await staff_client.see(f"/payments/{kept.order_id}")
    assert f'data-part="/payments/{kept.order_id}/raw"' in page.text
    assert "customer_email" not in page.text
    raw = text(await staff_client.see(f"/payments/{kept.order_id}/raw"))
    for words in (
        "Request to the gateway: create",
        "Notification from the gateway: purchase",
        "Event sent to Saleor: CHARGE_SUCCESS",
        '"customer_email": "•••"',
        '"cc_mask": "424242******4242"',
    ):
        assert words in raw, raw
    assert "olena" not in raw
    assert "+380" not in raw


@one_database
async def test_what_the_gateway_shows_now_is_asked_when_it_is_unfolded(staff_client: StaffClient) -> None:
    shop = staff_client.shop
    await shop.complete_payment()
    shop.gateway.book[shop.order_id] = [payment(shop.order_id, customer_email="olena@example.com")]
    shown = text(await staff_client.see(f"/payments/{shop.order_id}/at-gateway"))
    assert '"status": "success"' in shown
    assert '"customer_email": "•••"' in shown
    shop.gateway.will_answer_look_ups(BROKEN)
    assert (await staff_client.see(f"/payments/{shop.order_id}/at-gateway")).status_code == 502


@one_database
async def test_the_order_is_opened_in_the_dashboard_where_there_is_one(staff_client: StaffClient) -> None:
    order = await staff_client.payment(1, source_id="T3JkZXI6MQ==")
    checkout = await staff_client.payment(2)
    assert 'data-dashboard="/orders/T3JkZXI6MQ%3D%3D"' in (await staff_client.see(f"/payments/{order.order_id}")).text
    assert "data-dashboard" not in (await staff_client.see(f"/payments/{checkout.order_id}")).text


@one_database
async def test_where_only_a_person_can_tell_the_page_says_what_to_do_there(staff_client: StaffClient) -> None:
    words = "The gateway first reported failure and now reports success"
    kept = await staff_client.payment(1, problem=words)
    page = text(await staff_client.see(f"/payments/{kept.order_id}"))
    assert "tell the outcome to the app operator" in page
    assert "Look it up or mark it as reviewed" in page
    assert "saleor-gateway" not in page
    other = await staff_client.payment(2, problem="x", cause=Cause(AlertKind.REFUSED, "1"))
    page = text(await staff_client.see(f"/payments/{other.order_id}"))
    assert "tell the outcome" not in page
    assert "Look it up or mark it as reviewed" in page
