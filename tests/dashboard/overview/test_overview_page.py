"""What staff see first: figures against the period before, what was declined and how people paid, and what to do."""

import re
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from sqlalchemy import delete

from app.core.vocabulary import Kind, State
from app.store.day_sums import Days
from app.store.summed_days import store_sums
from app.store.tables import SummedDay
from tests.commands.books import operation, store_payment
from tests.commands.conftest import one_database
from tests.dashboard.dashboard_app import StaffClient, names, other_store
from tests.pages.two_months import add_two_months_of_payments

NOON = datetime(2026, 11, 21, 12, tzinfo=UTC)  # the clock's
DAY = timedelta(days=1)
SPACE = "\N{NO-BREAK SPACE}"


async def sold(
    staff_client: StaffClient,
    number: int,
    amount: str,
    at: datetime = NOON,
    *,
    code: str | None = None,
    **different: Any,
) -> None:
    """Somebody has paid that much at that moment; or was declined, with ``code``."""
    rows = [
        operation(
            Kind.CREATE,
            State.SUCCESS if code is None else State.FAILURE,
            amount=Decimal(amount),
            status_code=code,
            currency=different.get("currency", "UAH"),
            details={"card_mask": "424242******4242", "fee": {"amount": "1.50", "currency": "UAH"}} if not code else {},
            updated_at=at,
        )
    ]
    account = different.pop("account", staff_client.shop.account)
    await store_payment(
        staff_client.services, account, operations=rows, created_at=at, amount=Decimal(amount),
        **names(number), **different,
    )  # fmt: skip


async def summed(staff_client: StaffClient, days: int = 62) -> None:
    """The nights have passed: what is over is summed."""
    accounts = sorted(
        account.id for account in await staff_client.services.accounts.all(staff_client.shop.installation.id)
    )
    over = Days((NOON - days * DAY).date(), (NOON - DAY).date())
    async with staff_client.services.database.transaction() as session:
        await store_sums(session, accounts, over, NOON)


def words(page: str) -> str:
    """Return what is read on a page, in one line."""
    return " ".join(re.sub(r"<[^>]*>", " ", page).replace(SPACE, " ").split())


async def seen(staff_client: StaffClient, path: str = "/", **more: str) -> str:
    answer = await staff_client.see(path, **more)
    assert answer.status_code == 200
    return words(answer.text)


async def test_figures_are_those_of_the_period_and_are_compared_with_the_one_before(staff_client: StaffClient) -> None:
    await sold(staff_client, 1, "100.00")
    await sold(staff_client, 2, "300.00", NOON - 2 * DAY)
    await sold(staff_client, 3, "50.00", NOON - DAY, code="4009")
    await sold(staff_client, 4, "50.00", NOON - DAY, code="6007")  # nobody has tried to pay
    await sold(staff_client, 5, "200.00", NOON - 8 * DAY)
    await summed(staff_client)
    page = await seen(staff_client)
    assert "Charged 400.00 UAH +100.0% before: 200.00 UAH" in page
    assert "Net 397.00 UAH +100.0% before: 198.50 UAH" in page
    assert "Success rate 66.7% −33.3 pp before: 100.0%" in page
    assert "Average payment 200.00 UAH before: 200.00 UAH" in page
    assert "Insufficient funds 1 100.0%" in page
    assert "Visa 2 100.0%" in page
    assert "Payment pages where nobody tried to pay: 1." in page
    assert "Nov 15 – 21, 2026 compared with Nov 8 – 14, 2026" in page.replace("\N{THIN SPACE}", " ")


@one_database
async def test_an_average_is_no_finer_than_its_currency(staff_client: StaffClient) -> None:
    for number, amount in enumerate(("100.00", "100.00", "101.00"), 1):
        await sold(staff_client, number, amount, currency="JPY")
    assert "Average payment 100 JPY" in await seen(staff_client)


async def test_today_is_compared_with_yesterday_up_to_the_same_time(staff_client: StaffClient) -> None:
    await sold(staff_client, 1, "100.00", NOON - timedelta(hours=1))
    await sold(staff_client, 2, "50.00", NOON - DAY - timedelta(hours=1))
    await sold(staff_client, 3, "900.00", NOON - DAY + timedelta(hours=1))
    await summed(staff_client)
    page = await seen(staff_client, "/?days=1")
    assert "Charged 100.00 UAH +100.0% before: 50.00 UAH" in page
    assert "compared with yesterday up to this time" in page


async def test_whatever_is_kept_and_whatever_is_not_the_figures_are_the_same(staff_client: StaffClient) -> None:
    for back in range(8):
        await sold(staff_client, back, f"{back + 1}.00", NOON - back * DAY)
    await summed(staff_client)
    assert "Charged 28.00 UAH" in await seen(staff_client)
    await sold(staff_client, 20, "72.00", NOON - 3 * DAY)
    assert "Charged 28.00 UAH" in await seen(staff_client)  # written past everything that leaves a note
    await summed(staff_client)
    assert "Charged 100.00 UAH" in await seen(staff_client)


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ({"card_mask": "424242******4242", "payway": "cc"}, "Visa"),
        ({"card_mask": "555555******4444"}, "Mastercard"),
        ({"card_mask": "353011******0000"}, "Another card"),
        ({"card_mask": "424242******4242", "payway": "google_pay"}, "Google Pay"),
        ({"payway": "bank_pay"}, "Bank pay"),
        ({"payway": "cc"}, "Card"),
        ({}, "Not specified"),
        ({"wallet": "applepay", "card_mask": "424242******4242"}, "Apple Pay"),
        ({"wallet": "gpay"}, "Google Pay"),
        ({"saved_card_id": "card", "card_mask": "424242******4242"}, "Saved card"),
    ],
)
async def test_how_people_paid_is_told_by_what_is_known(
    staff_client: StaffClient, said: dict[str, str], shown: str
) -> None:
    details = {name: value for name, value in said.items() if name in {"card_mask", "payway"}}
    row = operation(Kind.CREATE, updated_at=NOON, details=details)
    different: dict[str, Any] = {name: value for name, value in said.items() if name not in details}
    await store_payment(staff_client.services, staff_client.shop.account, operations=[row], **names(1), **different)
    assert f"Payment method Payments Share {shown} 1 100.0%" in await seen(staff_client)


async def test_currencies_are_never_added_and_the_one_used_most_is_first(staff_client: StaffClient) -> None:
    await sold(staff_client, 1, "5.00", currency="EUR")
    for number in (2, 3):
        await sold(staff_client, number, "100.00")
    page = await staff_client.see("/")
    assert "Charged 200.00 UAH" in words(page.text)
    assert re.findall(r'<option value="(EUR|UAH)"( selected)?', page.text) == [("UAH", " selected"), ("EUR", "")]
    assert "Charged 5.00 EUR" in await seen(staff_client, "/?days=7&currency=EUR")
    assert "Charged 200.00 UAH" in await seen(staff_client, "/?currency=XXX")


@one_database
async def test_a_channel_and_an_account_can_be_chosen_and_nobody_elses(staff_client: StaffClient) -> None:
    theirs = await other_store(staff_client.shop)
    await sold(staff_client, 1, "1.00", channel="uah")
    await sold(staff_client, 2, "2.00", channel="wholesale")
    await sold(staff_client, 3, "4.00", account=theirs)
    assert "Charged 3.00 UAH" in await seen(staff_client)
    assert "Charged 2.00 UAH" in await seen(staff_client, "/?channel=wholesale")
    assert "There is nothing to show yet" in await seen(staff_client, f"/?account={theirs.id}")
    for nonsense in ("days=0", "days=x&currency=%F0%9F%92%B6", "account=%00", "channel=" + "x" * 999):
        await seen(staff_client, f"/?{nonsense}")


@one_database
async def test_a_channel_without_an_account_is_named_and_can_be_left(staff_client: StaffClient) -> None:
    """A kept link, after the channel was renamed or its account was taken away."""
    await sold(staff_client, 1, "1.00", channel="uah")
    await sold(staff_client, 2, "2.00", channel="wholesale")
    page = await staff_client.see("/?channel=wholesale")
    assert "Charged 2.00 UAH" in words(page.text)
    options = re.findall(r'<option value="(|uah|wholesale)"( selected)?', page.text)
    assert options == [("", ""), ("uah", ""), ("wholesale", " selected")]
    page = await staff_client.see("/?channel=uah")
    assert re.findall(r'<option value="(|uah)"( selected)?', page.text) == [("", ""), ("uah", " selected")]
    assert "<option" not in (await staff_client.see("/")).text, "there is nothing to choose"


@one_database
async def test_numbers_are_written_as_the_reader_writes_them(staff_client: StaffClient) -> None:
    await sold(staff_client, 1, "1234.50")
    await sold(staff_client, 2, "5.00", code="4009")
    await sold(staff_client, 3, "617.25", NOON - 8 * DAY)
    await summed(staff_client)
    page = await seen(staff_client, **{"Accept-Language": "uk"})
    assert "Списано 1 234,50 UAH +100,0%" in page
    assert "Частка успішних 50,0% −50,0 в. п." in page
    assert "Недостатньо коштів 1 100,0%" in page
    assert not re.search(r"\d\.\d", page.split("Списано за днями")[0].split("Огляд")[-1])


@one_database
@pytest.mark.parametrize("summed_already", [True, False])
async def test_trials_are_in_no_figure(staff_client: StaffClient, summed_already: bool) -> None:
    await sold(staff_client, 1, "100.00", NOON - DAY)
    await sold(staff_client, 2, "7.00", NOON - DAY, channel="", trial=True)
    await sold(staff_client, 3, "7.00", NOON - DAY, code="4009", channel="", trial=True)
    if summed_already:
        await summed(staff_client)
    page = await seen(staff_client)
    assert "Charged 100.00 UAH" in page
    assert "Success rate 100.0%" in page
    assert "Average payment 100.00 UAH" in page
    assert "107.00" not in page
    assert "Trial payments are in none of these figures." in page


async def test_a_store_that_has_sold_nothing_is_led_to_a_trial(staff_client: StaffClient) -> None:
    staff_client.permissions = ("HANDLE_PAYMENTS", "MANAGE_APPS")
    page = (await staff_client.see("/")).text
    assert "There is nothing to show yet" in page
    assert 'href="/set-up/try"' in page
    assert "<svg" not in page
    assert "Nothing needs your attention." in page
    staff_client.permissions = ("HANDLE_PAYMENTS",)
    page = (await staff_client.see("/")).text
    assert "set-up" not in page
    assert 'href="/payments"' in page


@one_database
async def test_what_needs_somebody_is_told_with_the_newest(staff_client: StaffClient) -> None:
    await staff_client.payment(7, problem="Somebody must look at this one.")
    page = (await staff_client.see("/")).text
    assert 'href="/attention?what=mismatch"' in page
    assert f'href="/payments/{7:032x}"' in page
    assert "Order 1007" in page
    assert "×" not in page
    await staff_client.payment(8, problem="And at this one.")
    assert ">×&nbsp;2<" in (await staff_client.see("/")).text  # a number alone in a line says nothing


@one_database
async def test_every_value_of_a_chart_is_in_a_table_too(staff_client: StaffClient) -> None:
    await add_two_months_of_payments(staff_client.services, staff_client.shop.account, NOON)
    page = (await staff_client.see("/?days=30")).text
    assert page.count('role="img"') == 1
    assert re.search(r'aria-labelledby="by-day-title" aria-describedby="by-day-words"', page)
    table = page.partition("<summary>As a table</summary>")[2].partition("</table>")[0]
    assert table.count('role="rowheader"') == 30
    drawn = re.findall(r"<title>(\w+ \d+): ([\d.,]+)", page.replace(SPACE, " "))
    assert len(drawn) == 30
    for day, value in drawn:
        assert f'role="rowheader">{day}</th>' in table
        assert value in table
    assert "style=" not in page  # the policy of the page would not let it be


@one_database
async def test_a_page_sums_few_days_itself_and_says_what_is_left(staff_client: StaffClient) -> None:
    await add_two_months_of_payments(staff_client.services, staff_client.shop.account, NOON)
    assert "still being added up" not in await seen(staff_client, "/?days=30")
    async with staff_client.services.database.transaction() as session:
        await session.exec(delete(SummedDay))
    assert "Days still being added up: 50." in await seen(staff_client, "/?days=30")
