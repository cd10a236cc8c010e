"""Staff look through the list of payments."""

import re

import httpx2

from app.ledger.tables import Kind, State
from tests.commands.books import operation
from tests.commands.conftest import one_database
from tests.dashboard.office import Office, next_door, open_office
from tests.payments.shop import SALEOR, Shop


def numbers(answer: httpx2.Response) -> list[int]:
    """Return the order numbers that are shown, from top to bottom."""
    assert answer.status_code == 200
    return [int(number) - 1000 for number in re.findall(r">Order (\d+)</a>", answer.text)]


def link(answer: httpx2.Response, words: str) -> str:
    found = re.search(rf'<a href="([^"]*)">{words}</a>', answer.text)
    assert found is not None
    return found[1].replace("&amp;", "&")


async def test_the_newest_are_first_and_no_page_leaves_one_out(office: Office) -> None:
    for number in range(1, 54):
        await office.payment(number)
    first = await office.see("/payments")
    assert numbers(first) == [*range(53, 28, -1)]
    assert ">Newest<" not in first.text
    await office.payment(54)
    second = await office.see(link(first, "Older"))
    assert numbers(second) == [*range(28, 3, -1)]
    third = await office.see(link(second, "Older"))
    assert numbers(third) == [3, 2, 1]
    assert ">Older<" not in third.text
    assert numbers(await office.see(link(third, "Newest")))[0] == 54


async def test_those_with_a_problem_and_those_in_a_state(office: Office) -> None:
    await office.payment(1)
    await office.payment(2, problem="The gateway says <something> else")
    await office.payment(3, operations=[operation(state=State.INIT)])
    await office.payment(4, operations=[operation(), operation(Kind.REFUND, State.PENDING)], problem="Another one")

    problems = await office.see("/payments?problems=1")
    assert numbers(problems) == [4, 2]
    assert "The gateway says &lt;something&gt; else" in problems.text
    assert numbers(await office.see("/payments?state=init")) == [3]
    assert numbers(await office.see("/payments?state=pending&problems=1")) == [4]
    assert numbers(await office.see("/payments?state=nonsense")) == [4, 3, 2, 1]
    assert "No such payment was found." in (await office.see("/payments?state=unknown")).text


async def test_a_payment_is_found_by_whatever_staff_have_at_hand(office: Office) -> None:
    for number in (1, 2, 3):
        await office.payment(number)
    for search in ("1002", "%231002", f"{2:032x}", "transaction-2", "00000000-0000-0000-0000-000000000002"):
        assert numbers(await office.see(f"/payments?search={search}")) == [2], search
    assert "No such payment" in (await office.see("/payments?search=%25")).text


async def test_what_is_searched_for_stands_in_the_form_and_in_the_links(office: Office) -> None:
    for number in range(1, 30):
        await office.payment(number)
    page = await office.see('/payments?search=10&problems=&state=success"><b>')
    assert 'value="10"' in page.text
    assert "<b>" not in page.text
    assert "search=10" in link(page, "Older")


@one_database
async def test_home_leads_through_the_set_up_until_a_channel_is_mapped(office: Office) -> None:
    assert "There is no payment yet." in (await office.see("/")).text
    await office.desk.accounts.unmap_channel(office.shop.installation.id, "uah")
    await next_door(office.shop)
    steps = await office.see("/")
    assert f"saleor-gateway accounts add --saleor {SALEOR} " in steps.text
    assert "A gateway is tranzzo" in steps.text
    assert "Installed and running" in steps.text
    assert "Установлено, працює" in (await office.see("/", **{"Accept-Language": "uk-UA"})).text


@one_database
async def test_below_a_path_all_links_stay_below_it(shop: Shop) -> None:
    async with open_office(shop, base="/pay") as office:
        payment = await office.payment(1)
        shell = await office.http.get("/payments")
        parts = [await office.see(path) for path in ("/payments", f"/payments/{payment.order_id}")]
    for page in (shell, *parts):
        for address in re.findall(r'(?:href|src|action)="([^"]*)"', page.text):
            assert address.startswith("/pay/"), address
