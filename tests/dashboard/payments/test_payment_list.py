"""Staff look through the list of payments."""

import re
import tempfile
from datetime import UTC, datetime
from decimal import Decimal

import httpx2
import pytest

from app.core.payment import Operation
from app.core.vocabulary import Flow, Kind, State
from tests.commands.books import operation, store_payment
from tests.commands.conftest import one_database
from tests.dashboard.dashboard_app import StaffClient, names, open_staff_client, other_store
from tests.payments.shop import Shop


def numbers(answer: httpx2.Response) -> list[int]:
    """Return the order numbers that are shown, from top to bottom."""
    assert answer.status_code == 200
    return [int(number) - 1000 for number in re.findall(r'class="subject">Order (\d+) ', answer.text)]


def plain(answer: httpx2.Response) -> str:
    """Return the page with its spaces as one types them."""
    return re.sub(r"\s+", " ", answer.text)


def link(answer: httpx2.Response, words: str) -> str:
    found = re.search(rf'<a href="([^"]*)">{words}</a>', answer.text)
    assert found is not None
    return found[1].replace("&amp;", "&")


async def test_the_newest_are_first_and_no_page_leaves_one_out(staff_client: StaffClient) -> None:
    for number in range(1, 54):
        await staff_client.payment(number)
    first = await staff_client.see("/payments")
    assert numbers(first) == [*range(53, 28, -1)]
    assert ">Newest<" not in first.text
    await staff_client.payment(54)
    second = await staff_client.see(link(first, "Older"))
    assert numbers(second) == [*range(28, 3, -1)]
    third = await staff_client.see(link(second, "Older"))
    assert numbers(third) == [3, 2, 1]
    assert ">Older<" not in third.text
    assert numbers(await staff_client.see(link(third, "Newest")))[0] == 54


async def test_those_with_a_problem_and_those_that_stand_so(staff_client: StaffClient) -> None:
    await staff_client.payment(1)
    await staff_client.payment(2, problem="The gateway says <something> else")
    await staff_client.payment(3, operations=[operation(state=State.INIT)])
    await staff_client.payment(
        4, operations=[operation(), operation(Kind.REFUND, State.PENDING)], problem="Another one"
    )

    problems = await staff_client.see("/payments?problems=1")
    assert numbers(problems) == [4, 2]
    assert "The gateway says &lt;something&gt; else" in problems.text
    assert numbers(await staff_client.see("/payments?status=pending")) == [3]
    assert numbers(await staff_client.see("/payments?status=paid&problems=1")) == [4, 2]
    assert numbers(await staff_client.see("/payments?status=nonsense")) == [4, 3, 2, 1]
    assert "No payments found." in (await staff_client.see("/payments?status=refunded")).text


def chips(answer: httpx2.Response) -> dict[str, str]:
    """Return the chips above the list, each with its count; the chosen one has a mark."""
    found = re.findall(
        r'class="chip"[^>]*?( aria-current="true")?>(.+?) <span class="count">([^<]*)</span>', answer.text
    )
    return {name: count + ("!" if chosen else "") for chosen, name, count in found}


async def test_chips_say_how_many_there_are_and_keep_what_is_looked_for(staff_client: StaffClient) -> None:
    refunded = [operation(), operation(Kind.REFUND)]
    await staff_client.payment(1, channel="eur", operations=refunded)
    await staff_client.payment(2, channel="eur", problem="Another one")
    await staff_client.payment(3, operations=[operation(state=State.FAILURE, message="Insufficient funds [1004]")])
    every = await staff_client.see("/payments")
    alike = {"Authorized": "0", "Pending": "0", "Cancelled": "0"}
    assert chips(every) == alike | {"All": "3!", "Paid": "1", "Failed": "1", "Refunded": "1", "Needs attention": "1"}
    assert "Found: 3 · Charged: 200.00 UAH − refunded: 100.00 UAH = 100.00 UAH<" in plain(every)
    assert "Insufficient funds" in every.text  # why nothing was paid, beside it
    assert "Clear all" not in every.text

    in_euros = await staff_client.see("/payments?channel=eur&status=refunded&after=" + "f" * 32)
    assert chips(in_euros) == alike | {"All": "2", "Paid": "1", "Failed": "0", "Refunded": "1!", "Needs attention": "1"}
    paid = re.search(r'<a class="chip" href="([^"]*)">Paid', in_euros.text)
    assert paid is not None
    assert paid[1] == "/payments?status=paid&amp;channel=eur"
    assert numbers(await staff_client.see(paid[1].replace("&amp;", "&"))) == [2]
    assert '<a class="clear" href="/payments">' in in_euros.text
    assert '<input type="hidden" name="status" value="refunded">' in in_euros.text  # a search keeps it

    by_address = await staff_client.do("/payments", search="olena@example.com")
    assert chips(by_address)["All"] == "0!"
    assert "@" not in "".join(re.findall(r'(?:href|action)="([^"]*)"', by_address.text))


async def test_the_amount_is_what_was_charged(staff_client: StaffClient) -> None:
    """What was declined or only authorized is money that nobody has."""
    captured = [operation(amount=Decimal("569.50")), operation(Kind.CAPTURE, amount=Decimal("300.50"))]
    await staff_client.payment(1, operations=captured, flow=Flow.AUTHORIZATION, amount=Decimal("569.50"))
    await staff_client.payment(2, operations=[operation(state=State.FAILURE)])
    await staff_client.payment(3, trial=True, channel="")
    page = plain(await staff_client.see("/payments"))
    assert '300.50 UAH <small class="quiet">of 569.50 UAH</small><' in page
    assert '>0.00 UAH <small class="quiet">of 100.00 UAH</small><' in page
    assert "Found: 3 · Charged: 300.50 UAH · Trials, charged: 100.00 UAH<" in page
    assert '<h1 tabindex="-1">Payment: 300.50 of 569.50 UAH</h1>' in plain(
        await staff_client.see(f"/payments/{1:032x}")
    )


@one_database
async def test_a_status_has_one_word_and_one_tone(staff_client: StaffClient) -> None:
    def part(kind: Kind = Kind.CREATE, state: State = State.SUCCESS) -> Operation:
        return operation(kind, state, amount=Decimal("100.00") if kind is not Kind.REFUND else Decimal("1.00"))

    captured = [part(), part(Kind.CAPTURE)]
    await staff_client.payment(1, operations=captured, flow=Flow.AUTHORIZATION, problem="Something else")
    await staff_client.payment(2)
    await staff_client.payment(3, operations=[part(), part(Kind.REFUND)])
    await staff_client.payment(4, operations=[part(state=State.INIT)])
    await staff_client.payment(5, operations=[part(state=State.PENDING)])
    await staff_client.payment(6, operations=[part()], flow=Flow.AUTHORIZATION)
    await staff_client.payment(7, operations=[part(state=State.FAILURE)])
    page = plain(await staff_client.see("/payments"))
    assert re.findall(r'<span class="badge ([a-z]*)">\s*([^<]*?)\s*</span>', page) == [
        ("bad", "failed"),
        ("info", "authorized"),
        ("warn", "waiting for the bank"),
        ("warn", "waiting for the shopper"),
        ("warn", "partially refunded"),
        ("good", "paid"),
        ("good", "paid"),
    ]


async def test_more_than_are_counted_say_so(staff_client: StaffClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.store.search.MAX_COUNTED", 2)
    monkeypatch.setattr("app.web.dashboard.payments.listing.MAX_COUNTED", 2)
    for number in (1, 2, 3):
        await staff_client.payment(number)
    page = await staff_client.see("/payments")
    assert chips(page)["All"] == "2+!"
    assert chips(page)["Paid"] == "2+"  # not more than all
    assert "0+" not in page.text  # how many there are among those not counted is not known
    assert ">Authorized</a>" in page.text
    assert "Choose days to see their total" in page.text


async def test_an_empty_list_says_what_to_do(staff_client: StaffClient) -> None:
    page = (await staff_client.see("/payments")).text
    assert "There are no payments yet." in page
    assert "Set up and try it out" not in page  # who may not is not sent there
    assert 'role="search"' not in page
    staff_client.permissions = ("HANDLE_PAYMENTS", "MANAGE_APPS")
    assert '<a href="/set-up">Set up and try it out</a>' in (await staff_client.see("/payments")).text


async def test_a_payment_is_found_by_whatever_staff_have_at_hand(staff_client: StaffClient) -> None:
    refund = operation(Kind.REFUND, psp_reference="refund-77", operation_id="36c59597-f4c4-456e-8f6e-91af30f1df96")
    for number in (1, 2, 3):
        await staff_client.payment(number, amount=Decimal(1000 + number))
    named = names(4) | {"order_id": "abcdef" + "0" * 26}
    await store_payment(
        staff_client.services, staff_client.shop.account, [operation(operation_id="payment-of-4"), refund], **named
    )
    for search in ("1002", "%231002", f"{2:032x}", "transaction-2", "00000000-0000-0000-0000-000000000002"):
        assert numbers(await staff_client.see(f"/payments?search={search}")) == [2], search
    for search in ("refund-77", "refund-77-released", "36c59597f4c4456e8f6e91af30f1df96", "payment-of-4", "ABCDEF"):
        assert numbers(await staff_client.see(f"/payments?search={search}")) == [4], search
    for search in ("1003.00", "1 003,00", "1,003.00 UAH", "1003 грн"):
        assert numbers(await staff_client.see(f"/payments?search={search}")) == [3], search
    for search in ("%25", "100", "1003.01", "1003.00 EUR", "abcde", "100%25"):
        assert "No payments found." in (await staff_client.see(f"/payments?search={search}")).text, search


async def test_what_is_long_is_found_as_well(staff_client: StaffClient) -> None:
    order = "T3JkZXI6OTgzM2IxZjItNGE0Yy00ZDQ3LTgwMDItMGFmMTA5ZjZlMjUx"
    address = f"{'olena' * 12}@{'shop.' * 12}example.com"
    emails, store = staff_client.services.emails, staff_client.shop.installation.id
    await staff_client.payment(1, source_id=order)
    await staff_client.payment(2, email_digest=emails.digest_to_store(store, address))
    link = f"https://store-abcdefgh.eu.saleor.cloud/dashboard/orders/{order}?action=capture&{'x' * 80}"
    assert numbers(await staff_client.do("/payments", search=link)) == [1]
    assert numbers(await staff_client.do("/payments", search=address)) == [2]


async def test_what_is_looked_for_stands_in_the_form_and_in_the_links(staff_client: StaffClient) -> None:
    for number in range(1, 30):
        await staff_client.payment(number)
    page = await staff_client.see('/payments?search=100.00&problems=&status=paid"><b>&from=2026-11-01%2B02:00')
    assert 'value="100.00"' in page.text
    assert 'value="2026-11-01"' in page.text
    assert "<b>" not in page.text
    assert "search=100.00&from=2026-11-01%2B02%3A00&after=" in link(page, "Older")
    assert numbers(await staff_client.see(link(page, "Older"))) == [4, 3, 2, 1]


async def test_channel_account_and_days_of_whoever_looks(staff_client: StaffClient) -> None:
    other = await other_store(staff_client.shop)
    await store_payment(staff_client.services, other, **names(9), channel="pln")
    await staff_client.payment(1, channel="eur", created_at=datetime(2026, 11, 20, 22, 30, tzinfo=UTC))
    await staff_client.payment(2, created_at=datetime(2026, 11, 21, 12, 0, tzinfo=UTC))
    await staff_client.payment(3, created_at=datetime(2026, 11, 21, 22, 30, tzinfo=UTC))
    chosen = await staff_client.see("/payments?channel=eur")
    assert numbers(chosen) == [1]
    assert re.findall(r'<option value="([^"]*)"( selected)?>(?:eur|default-channel|pln)', chosen.text) == [
        ("default-channel", ""),
        ("eur", " selected"),
    ]
    assert numbers(
        await staff_client.see(f"/payments?account={staff_client.shop.account.id}&channel=default-channel")
    ) == [3, 2]
    assert "No payments found." in (await staff_client.see(f"/payments?account={other.id}")).text
    assert numbers(await staff_client.see("/payments?from=2026-11-21&to=2026-11-21")) == [3, 2]
    assert numbers(await staff_client.see("/payments?from=2026-11-21%2B02:00&to=2026-11-21%2B02:00")) == [2, 1]
    assert numbers(await staff_client.see("/payments?to=2026-11-20")) == [1]
    assert numbers(await staff_client.see("/payments?from=nonsense")) == [3, 2, 1]


async def test_a_row_says_where_how_much_and_with_what(staff_client: StaffClient) -> None:
    await staff_client.payment(1, operations=[operation(details={"card_mask": "424242******4242"})], channel="eur")
    await staff_client.payment(2, operations=[operation(details={"payway": "apple_pay"})])
    page = (await staff_client.see("/payments")).text
    for words in ("Visa •••• 4242", "Apple Pay", "eur", "100.00\N{NO-BREAK SPACE}UAH", "paid"):
        assert words in page
    assert "olena" not in page


async def test_row_begins_with_amount_and_status_and_names_no_id(staff_client: StaffClient) -> None:
    await staff_client.payment(1, operations=[operation(details={"card_mask": "424242******4242"})])
    for number, trial in ((2, False), (3, True)):
        named = names(number) | {"order_number": None, "trial": trial}
        await store_payment(staff_client.services, staff_client.shop.account, **named)
    seen = re.sub(r'<span class="away">.*?</span></a>', "</a>", plain(await staff_client.see("/payments")))
    rows = re.findall(r"<tr.*?</tr>", seen)[1:]
    cells = [[re.sub(r"<[^>]+>", "", cell).strip() for cell in re.findall(r"<td.*?</td>", row)] for row in rows]
    assert [row[:3] for row in cells] == [
        ["100.00 UAH", "paid", "Trial"],
        ["100.00 UAH", "paid", "No order yet"],
        ["100.00 UAH", "paid", "Order 1001"],
    ]
    assert cells[2][3] == "Visa •••• 4242"
    assert f"{1:032x}"[:8] not in " ".join(text for row in cells for text in row)


async def test_a_shopper_is_found_by_an_address_that_no_address_of_a_page_says(staff_client: StaffClient) -> None:
    sent = {"email": "olena@example.com"}
    staff_client.shop.gateway.will_answer(staff_client.shop.gateway.page())
    await staff_client.shop.begin(data={"customer": sent})
    for number in range(1, 28):
        await staff_client.payment(
            number,
            email_digest=staff_client.services.emails.digest_to_store(staff_client.shop.installation.id, sent["email"]),
        )
    await staff_client.payment(28)

    first = await staff_client.do("/payments", search=" Olena@Example.com ")
    assert numbers(first) == [*range(27, 2, -1)]
    assert "@" not in "".join(re.findall(r'(?:href|action)="([^"]*)"', first.text))
    pages = first.text.partition('aria-label="Pages of the list"')[2].partition("</nav>")[0]
    fields = dict(re.findall(r'<input type="hidden" name="([^"]*)" value="([^"]*)">', pages))
    assert fields["search"] == "Olena@Example.com"
    rest = await staff_client.do("/payments", **fields)
    assert staff_client.shop.order_id in rest.text
    assert numbers(rest) == [2, 1]
    assert "No payments found." in (await staff_client.do("/payments", search="taras@example.com")).text

    refused = await staff_client.see("/payments?search=olena%40example.com")
    assert refused.status_code == 422
    assert refused.json()["detail"]["code"] == "ADDRESS_IN_ADDRESS"
    assert "olena" not in refused.text


async def test_what_is_found_can_be_had_as_a_file(staff_client: StaffClient) -> None:
    await store_payment(staff_client.services, await other_store(staff_client.shop), **names(99))
    emails, store = staff_client.services.emails, staff_client.shop.installation.id
    for number in range(1, 28):
        await staff_client.payment(number, email_digest=emails.digest_to_store(store, "olena@example.com"))
    await staff_client.payment(28, amount=Decimal("1234.50"), problem="Очі")
    whole = await staff_client.do("/payments.csv")
    assert whole.headers["content-type"] == "text/csv; charset=utf-8"
    assert whole.headers["cache-control"] == "no-store, no-transform"
    assert whole.content.startswith("\N{BYTE ORDER MARK}Started (UTC),Order number,".encode())
    lines = whole.text.splitlines()
    assert len(lines) == 29
    assert ",1234.50,UAH," in lines[1]
    assert ',Main,Live,"Очі ' in lines[1]
    local = await staff_client.do("/payments.csv", zone="Europe/Kyiv")
    assert local.content.startswith("\N{BYTE ORDER MARK}Started (Europe/Kyiv),".encode())
    book = await staff_client.do("/payments.xlsx")
    assert book.headers["content-type"].startswith("application/vnd.openxmlformats-officedocument.spreadsheetml")
    assert book.content.startswith(b"PK")
    hers = await staff_client.do("/payments.csv", search="olena@example.com", after=f"{20:032x}")
    assert len(hers.text.splitlines()) == 28
    assert "olena" not in hers.text
    assert (await staff_client.http.post("/parts/payments.csv")).status_code == 401
    page = await staff_client.do("/payments", search="olena@example.com", after=f"{20:032x}")
    (form,) = re.findall(r'<form class="file".*?</form>', page.text, re.DOTALL)
    assert re.findall(r'name="([^"]*)" value="([^"]*)"', form) == [("search", "olena@example.com")]


@pytest.mark.fault("disk-full")
async def test_a_file_for_which_there_is_no_space_is_refused_in_words(
    staff_client: StaffClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was a download that broke off, and a stack trace in the log."""
    await staff_client.payment(1)
    monkeypatch.setattr(tempfile, "tempdir", "/nowhere")
    refused = await staff_client.do("/payments.xlsx")
    assert (refused.status_code, refused.json()["detail"]["code"]) == (503, "NO_SPACE"), refused.text
    assert (await staff_client.do("/payments.csv")).status_code == 200


@one_database
async def test_below_a_path_all_links_stay_below_it(shop: Shop) -> None:
    async with open_staff_client(shop, base="/pay") as staff_client:
        payment = await staff_client.payment(1)
        shell = await staff_client.http.get("/payments")
        parts = [await staff_client.see(path) for path in ("/payments", f"/payments/{payment.order_id}")]
    for page in (shell, *parts):
        for address in re.findall(r'(?:href|src|action)="([^"]*)"', page.text):
            assert address.startswith("/pay/"), address


@pytest.mark.threat("injection")
@pytest.mark.parametrize(
    "word",
    ["a\x00b", "\x00", "9" * 400, "9" * 40 + ".00", "🙂" * 40, "' OR '1'='1' --", "%"],
    ids=["NUL", "only NUL", "long", "huge", "not ASCII", "SQL", "a pattern"],
)
@pytest.mark.parametrize("field", ["search", "channel", "account", "after", "status", "from", "to"])
async def test_whatever_is_typed_is_looked_for(staff_client: StaffClient, field: str, word: str) -> None:
    """A page that says what is found, and a file that does not break off behind its 200."""
    await staff_client.payment(1)
    page = await staff_client.do("/payments", **{field: word})
    assert page.status_code == 200
    file = await staff_client.do("/payments.csv", **{field: word})
    assert file.status_code == 200
    found = 0 if field in {"search", "channel", "account"} else 1
    assert len(file.text.splitlines()) == 1 + found
