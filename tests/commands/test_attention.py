"""``attention``: what needs a person, in a terminal; and what a person has looked at."""

from decimal import Decimal

from app.rules.problems import cause_of_mismatch
from app.services import Services
from app.store.tables import MerchantAccount
from tests.commands.books import ORDER, moment_after, operation, store_payment
from tests.commands.conftest import SALEOR, Shell, install, one_database
from tests.payments.problems import issue_saying, raise_problem

DIFFERS = issue_saying("The amount differs.")


async def differs(services: Services, account: MerchantAccount) -> None:
    """Keep a payment of which the gateway says something else than was asked."""
    kept = await store_payment(services, account)
    cause = cause_of_mismatch(DIFFERS, None, "x")
    await raise_problem(services.database, kept, cause, DIFFERS, moment_after(hours=1))


async def test_the_exit_status_says_whether_there_is_something(
    shell: Shell, services: Services, account: MerchantAccount
) -> None:
    said = await shell("attention")
    assert (said.status, said.out) == (0, "Nothing needs attention.\n")
    assert (await shell("attention", "--json")).json == []

    await differs(services, account)
    said = await shell("attention")
    assert (said.status, said.err) == (1, "")
    assert said.out.startswith("The gateway's report does not match the request\n")
    assert "2026-11-21 13:00 UTC" in said.out
    assert f"saleor-gateway payments settle {ORDER}" in said.out
    said = await shell("attention", "--json", "--saleor", SALEOR)
    assert said.status == 1
    [item] = said.json
    assert (item["saleor"], item["what"], item["count"], item["account_name"]) == (SALEOR, "mismatch", 1, "Shop")
    assert (item["key"], item["since"]) == (f"mismatch:{account.id}", "2026-11-21T13:00:00.000Z")
    assert set(item) >= {"title", "meaning", "remedy", "command", "detail", "more"}

    other = "https://other.example.com/graphql/"
    await install(services, other)
    assert (await shell("attention", "--saleor", other)).status == 0


@one_database
async def test_attention_names_the_payments_and_what_to_run(
    shell: Shell, services: Services, account: MerchantAccount
) -> None:
    await store_payment(
        services, account, [operation(amount=Decimal("1708.50"))], order_number="1042", amount=Decimal("1708.50"),
        problem="The amount differs.",
    )  # fmt: skip
    said = await shell("attention")
    assert "  order 1042: 1,708.50 UAH, paid\n" in said.out
    assert f"    run: saleor-gateway payments settle {ORDER}\n" in said.out
    assert "payments list --problems" not in said.out

    for number in range(6):
        await store_payment(
            services, account, transaction_id=str(number), order_id=f"{number:032x}", problem="The amount differs."
        )
    said = await shell("attention")
    assert said.out.count("run: saleor-gateway payments settle ") == 5
    assert "gateway order 00000000000000000000000000000005: 100.00 UAH, paid" in said.out
    assert "  and 2 more\n  run: saleor-gateway payments list --problems\n" in said.out


async def test_what_a_person_has_looked_at_needs_nobody(
    shell: Shell, services: Services, account: MerchantAccount
) -> None:
    await differs(services, account)
    said = await shell("payments", "looked-at", ORDER)
    assert (said.status, said.out) == (0, f"reviewed: {DIFFERS.message}\n")
    (await shell("payments", "looked-at", ORDER)).failed("no problem that can be marked")
    assert (await shell("attention")).status == 0


@one_database
async def test_notifications_that_a_person_has_looked_at(
    shell: Shell, services: Services, account: MerchantAccount
) -> None:
    assert (await shell("notifications", "looked-at", "unmatched")).out == "reviewed: 0\n"
    assert (await shell("notifications", "looked-at", "unreadable", "--json")).json == {"looked_at": 0}
    assert (await shell("notifications", "looked-at", "sealed")).status == 2
