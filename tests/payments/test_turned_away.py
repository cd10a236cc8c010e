"""When shoppers are turned away in a channel and none gets through, staff are told, until one gets through."""

from typing import Any

import pytest
from sqlmodel import select

from app.core.alerts import AlertKind
from app.flows.gateway_initialize import answer_gateway_initialize
from app.flows.staff.manual_resolution import acknowledge_turned_away
from app.flows.turned_away import count_refused, count_unusable
from app.reports.alerts.open_alerts import Alert
from app.rules.refusal import RefusalCode, RefusalError
from app.store.tables import TurnedAway
from app.store.turned_away import MAX_ROWS_A_DAY, RECENT
from app.worker.erase import erase_outdated
from integration_base_tests.loopback import Reply, json_reply
from saleor_app_sdk.errors import NotUsableError
from tests.payments.alert_cases import items
from tests.payments.fake_gateway import refusal_reply
from tests.payments.operations.test_gateway_initialize import event
from tests.payments.shop import Shop, run_concurrently, source_object

_RENAMED = {"slug": "ukraine", "currencyCode": "UAH"}


async def turn_away(shop: Shop, times: int = RECENT, **members: Any) -> None:
    """Let shoppers begin to pay in a channel without an account, each in a transaction of its own."""
    members = members or {"sourceObject": source_object(channel=_RENAMED)}
    for _ in range(times):
        shop.clock.forward(seconds=1)
        answer = await begin(shop, **members)
        assert answer.result == "CHARGE_FAILURE"


_numbers = iter(range(1, 100_000))


async def begin(shop: Shop, **members: Any) -> Any:
    """Begin a payment of a new shopper."""
    number = next(_numbers)
    source = {"id": f"checkout{number}"}
    members["sourceObject"] = members.get("sourceObject", source_object()) | source
    return await shop.begin(transaction={"id": f"transaction{number}"}, **members)


async def told(shop: Shop) -> list[Alert]:
    return [item for item in await items(shop) if item.what is AlertKind.TURNED_AWAY]


@pytest.mark.law(17)
async def test_shoppers_of_a_channel_without_an_account_are_counted_and_staff_are_told(shop: Shop) -> None:
    await turn_away(shop, RECENT - 1)
    assert await told(shop) == []
    await turn_away(shop, 1)
    [alert] = await told(shop)
    assert alert.count == RECENT
    assert "ukraine" in (alert.detail or "")
    assert "CHANNEL_NOT_MAPPED" in (alert.detail or "")
    assert shop.gateway.requests == []
    await turn_away(shop, 2)
    [later] = await told(shop)
    assert (later.key, later.since, later.count) == (alert.key, alert.since, RECENT + 2)


@pytest.mark.law(17)
async def test_an_account_that_another_process_has_just_deleted_takes_no_payment(
    shop: Shop, second_process: Shop
) -> None:
    """This process still holds the account, for the few seconds in which it asks the database no more."""
    channel = source_object()["channel"]["slug"]
    assert await shop.services.accounts.for_channel(shop.installation.id, channel) is not None
    assert await second_process.services.accounts.remove(shop.account.id)
    answer = await begin(shop)
    assert (answer.result, answer.data["errors"][0]["code"]) == ("CHARGE_FAILURE", "CHANNEL_NOT_MAPPED")
    await turn_away(shop, RECENT - 1, sourceObject=source_object())
    [alert] = await told(shop)
    assert alert.count == RECENT
    assert shop.gateway.requests == []


async def test_what_is_not_offered_turns_away_too(shop: Shop) -> None:
    """A storefront that hears "not available" lets nobody begin to pay."""
    for _ in range(RECENT):
        await answer_gateway_initialize(shop.services, event(channel=_RENAMED), shop.installation)
    assert len(await told(shop)) == 1


@pytest.mark.law(17)
@pytest.mark.parametrize(
    ("reply", "code"),
    [
        (
            json_reply({"message": "Invalid", "args": [{"field_name": "amount", "violation": "from 100.00"}]}, 400),
            "AMOUNT_NOT_ACCEPTED",
        ),
        (refusal_reply("Invalid credentials", "S-404", 401), "STORE_UNAVAILABLE"),
        (refusal_reply("Closed", "S-405"), "STORE_UNAVAILABLE"),
        (refusal_reply("Too many", "T-429", 429), "BUSY"),
        (Reply(503), "TRY_AGAIN"),
    ],
)
async def test_what_the_gateway_refuses_is_told(shop: Shop, reply: Reply, code: str) -> None:
    for _ in range(RECENT):
        shop.gateway.will_answer(reply)
        await turn_away(shop, 1, data={})
    [alert] = await told(shop)
    assert code in (alert.detail or "")
    assert (alert.account_id, alert.account) == (shop.account.id, shop.account.name)
    if code == "AMOUNT_NOT_ACCEPTED":
        assert "from 100.00" in (alert.detail or "")  # the gateway's own words


@pytest.mark.law(17)
async def test_requests_that_nobody_reads_are_told_of_all_channels_until_somebody_gets_through(shop: Shop) -> None:
    refusal = NotUsableError(400, "FROM_THE_FUTURE", "The clocks differ.")
    for _ in range(RECENT):
        shop.clock.forward(seconds=1)
        await count_unusable(shop.services, shop.installation.id, refusal)
    [alert] = await told(shop)
    assert str(alert.detail) == "All channels: FROM_THE_FUTURE (5) The clocks differ."
    shop.clock.forward(seconds=1)
    shop.gateway.will_answer(shop.gateway.page())
    await begin(shop)
    assert await told(shop) == []


async def test_who_got_through_before_the_clock_was_set_back_is_no_sign_that_somebody_does(shop: Shop) -> None:
    shop.gateway.will_answer(shop.gateway.page())
    await begin(shop)
    shop.clock.forward(hours=-1)
    await turn_away(shop, data={"returnUrl": "https://elsewhere.test/"})
    assert len(await told(shop)) == 1


async def test_a_bank_that_declines_turns_nobody_away(shop: Shop) -> None:
    for _ in range(RECENT):
        shop.gateway.will_answer(refusal_reply("Invalid operation", "4150"))
        await turn_away(shop, 1, data={})
    assert await told(shop) == []


async def test_it_is_over_when_somebody_gets_through(shop: Shop) -> None:
    await turn_away(shop, RECENT * 2, data={"returnUrl": "https://elsewhere.test/"})
    assert len(await told(shop)) == 1
    shop.clock.forward(seconds=1)
    shop.gateway.will_answer(shop.gateway.page())
    assert (await begin(shop)).result == "CHARGE_ACTION_REQUIRED"
    assert await told(shop) == []
    await turn_away(shop, RECENT - 1, data={"returnUrl": "https://elsewhere.test/"})
    assert await told(shop) == []
    await turn_away(shop, 1, data={"returnUrl": "https://elsewhere.test/"})
    assert len(await told(shop)) == 1


async def test_who_gets_through_elsewhere_changes_nothing(shop: Shop) -> None:
    await turn_away(shop)
    shop.clock.forward(seconds=1)
    shop.gateway.will_answer(shop.gateway.page())
    await begin(shop)
    assert len(await told(shop)) == 1


async def test_it_is_over_when_nobody_is_turned_away_for_a_day(shop: Shop) -> None:
    await turn_away(shop)
    shop.clock.forward(hours=25)
    assert await told(shop) == []


async def test_what_staff_have_acknowledged_stays_quiet_until_somebody_gets_through(shop: Shop) -> None:
    """A channel that is left without an account on purpose."""
    await turn_away(shop)
    assert await acknowledge_turned_away(shop.services, shop.installation.id) == 1
    assert await told(shop) == []
    for _ in range(3):
        shop.clock.forward(hours=20)
        await turn_away(shop)
        assert await told(shop) == []


async def test_another_reason_in_the_same_channel_is_told_anew(shop: Shop) -> None:
    await turn_away(shop, data={"returnUrl": "https://elsewhere.test/"})
    await acknowledge_turned_away(shop.services, shop.installation.id)
    await turn_away(shop, data={"returnUrl": "https://elsewhere.test/"})
    assert await told(shop) == []
    another_currency = event(channel={"slug": "uah", "currencyCode": "PLN"})
    for _ in range(RECENT):
        await answer_gateway_initialize(shop.services, another_currency, shop.installation)
    assert len(await told(shop)) == 1


async def test_who_has_paid_already_is_not_turned_away(shop: Shop) -> None:
    for _ in range(RECENT):
        await count_refused(shop.services, shop.installation.id, "uah", RefusalError(RefusalCode.ALREADY_PAID, "paid"))
    assert await told(shop) == []


async def test_a_card_number_in_a_shoppers_details_says_nothing_of_the_store(shop: Shop) -> None:
    """The shopper is told, and can correct it. A storefront that sends card data turns everybody away."""
    typed = source_object(email="4242424242424242@example.com")
    for _ in range(RECENT):
        answer = await begin(shop, sourceObject=typed)
        assert answer.data["errors"][0]["code"] == "CARD_DATA_REFUSED"
    assert await told(shop) == []
    await turn_away(shop, sourceObject=source_object(), data={"cc_number": "4242424242424242"})
    assert len(await told(shop)) == 1


async def test_many_at_once_are_all_counted(shop: Shop) -> None:
    members = {"sourceObject": source_object(channel=_RENAMED)}
    await run_concurrently(*(begin(shop, **dict(members)) for _ in range(20)))
    [alert] = await told(shop)
    assert alert.count == 20


async def test_rows_are_few_and_do_not_stay(shop: Shop) -> None:
    for number in range(MAX_ROWS_A_DAY + 3):
        channel = {"slug": f"c{number}", "currencyCode": "UAH"}
        await answer_gateway_initialize(shop.services, event(channel=channel), shop.installation)
    async with shop.services.database.transaction() as session:
        assert len((await session.exec(select(TurnedAway))).all()) == MAX_ROWS_A_DAY
    shop.clock.forward(days=91)
    await erase_outdated(shop.services, shop.installation.id)
    async with shop.services.database.transaction() as session:
        assert (await session.exec(select(TurnedAway))).all() == []


async def test_a_renamed_channel_goes_on_if_saleor_has_named_it_before(shop: Shop) -> None:
    known = {"id": "Q2hhbm5lbDox", "slug": "uah", "currencyCode": "UAH"}
    await answer_gateway_initialize(shop.services, event(channel=known), shop.installation)
    shop.gateway.will_answer(shop.gateway.page())
    answer = await begin(shop, sourceObject=source_object(channel=known | {"slug": "ukraine"}))
    assert answer.result == "CHARGE_ACTION_REQUIRED"
    answered = await answer_gateway_initialize(shop.services, event(channel=known | {"slug": "ua"}), shop.installation)
    assert answered.data["available"] is True
    assert [route.channel for route in await shop.services.accounts.routes(shop.installation.id)] == ["ua"]


async def test_a_storefront_that_only_begins_payments_names_the_channel_too(shop: Shop) -> None:
    known = {"id": "Q2hhbm5lbDox", "slug": "uah", "currencyCode": "UAH"}
    for slug in ("uah", "ukraine"):
        shop.gateway.will_answer(shop.gateway.page())
        answer = await begin(shop, sourceObject=source_object(channel=known | {"slug": slug}))
        assert answer.result == "CHARGE_ACTION_REQUIRED"
    assert [route.channel for route in await shop.services.accounts.routes(shop.installation.id)] == ["ukraine"]
