"""``look-up``: what the gateway has is shown, and what is found of a payment of ours becomes what we know."""

from datetime import timedelta
from decimal import Decimal
from uuid import UUID, uuid4

import pytest

from app.core.vocabulary import Kind, State
from app.services import Services
from app.store.aggregates import find_by_order
from app.store.tables import MerchantAccount
from gateway_client.sandbox.control.client import SandboxControl
from gateway_client.sandbox.core.records import RecurringPlan
from gateway_client.sandbox.core.subscriptions import create_subscription
from gateway_client.sandbox.sandbox import Sandbox
from gateway_client.sandbox.scripting import FaultRule
from tests.commands.conftest import Shell, add_account, install, one_database
from tests.commands.test_reconcile import MIDNIGHT, account, clock, control, known, paid, sandbox

__all__ = ["account", "clock", "control", "sandbox"]

DAY = f"{MIDNIGHT:%Y-%m-%d}"


async def states(services: Services, order_id: str) -> list[tuple[Kind, State]]:
    async with services.database.transaction() as session:
        aggregate = await find_by_order(session, order_id)
    assert aggregate is not None
    return [(operation.kind, operation.state) for operation in aggregate.operations]


async def refunded_silently(
    services: Services, account: MerchantAccount, sandbox: tuple[str, Sandbox], control: SandboxControl
) -> str:
    """A payment that we know; somebody has refunded a part in the merchant portal, and nobody told us."""
    order_id = await known(services, account)
    paid(sandbox[1], order_id)
    await control.portal(order_id, "refund", Decimal("30.00"), silent=True)
    assert await states(services, order_id) == [(Kind.CREATE, State.SUCCESS)]
    return order_id


BOTH = [(Kind.CREATE, State.SUCCESS), (Kind.REFUND, State.SUCCESS)]


async def test_an_order_is_shown_and_posted(
    shell: Shell, services: Services, account: MerchantAccount, sandbox: tuple[str, Sandbox], control: SandboxControl
) -> None:
    order_id = await refunded_silently(services, account, sandbox, control)
    said = await shell("look-up", "order", order_id)
    assert said.status == 0, said
    assert "refund" in said.out
    assert "30.00 UAH" in said.out
    assert f"Recorded for payment {order_id}." in said.out
    assert await states(services, order_id) == BOTH
    told = (await shell("look-up", "order", order_id, "--json")).json
    assert [record["method"] for record in told["records"]] == ["purchase", "refund"]
    assert told["posted"] == [order_id]


async def test_an_operation_is_posted_by_itself(
    shell: Shell, services: Services, account: MerchantAccount, sandbox: tuple[str, Sandbox], control: SandboxControl
) -> None:
    order_id = await refunded_silently(services, account, sandbox, control)
    said = await shell("look-up", "operation", order_id, "refund", "--json")
    assert [record["method"] for record in said.json["records"]] == ["refund"]
    assert await states(services, order_id) == BOTH
    assert "has no records" in (await shell("look-up", "operation", order_id, "void")).out


async def test_a_period_looks_up_what_differs(
    shell: Shell, services: Services, account: MerchantAccount, sandbox: tuple[str, Sandbox], control: SandboxControl
) -> None:
    order_id = await refunded_silently(services, account, sandbox, control)
    paid(sandbox[1], "=cmd|evil", uuid4())
    period = ("look-up", "period", "--account", "Shop", "--from", DAY, "--to", DAY)
    said = await shell(*period)
    assert said.status == 0, said
    assert sum(order_id in line for line in said.out.splitlines()) == 2
    assert "=cmd|evil" in said.out
    assert f"{order_id}: differed from the app's record" in said.err
    assert await states(services, order_id) == BOTH
    again = await shell(*period, "--json")
    assert again.err == "", "now it is known"
    assert all(line.startswith("{") for line in again.out.splitlines())
    since = f"{MIDNIGHT - timedelta(days=70):%Y-%m-%d}"
    await shell("look-up", "period", "--account", "Shop", "--from", since, "--to", DAY)
    assert sum("/transactions" in call.path for call in await control.calls()) == 2 + 3, "31 days at a time"
    await control.fault(FaultRule(path="*/transactions", effect="truncate"))
    broken = await shell(*period)
    assert broken.status == 1
    assert "the list is incomplete" in broken.err


async def test_the_later_charge_of_a_subscription_that_was_not_known_is_booked(
    shell: Shell, services: Services, account: MerchantAccount, sandbox: tuple[str, Sandbox]
) -> None:
    order_id = await known(services, account)
    state = sandbox[1].state
    first = paid(sandbox[1], order_id)
    create_subscription(state, first, RecurringPlan(interval_unit="month", interval_count=1), MIDNIGHT)
    later = paid(sandbox[1], order_id, uuid4(), MIDNIGHT + timedelta(minutes=1))
    later.recurring_id = first.recurring_id
    said = await shell("look-up", "subscription", str(first.recurring_id), "--account", "Shop", "--json")
    assert said.status == 0, said
    assert len(said.json["records"]) == 2
    assert said.json["posted"] == [order_id]
    assert await states(services, order_id) == [(Kind.CREATE, State.SUCCESS), (Kind.RECURRING, State.SUCCESS)]
    async with services.database.transaction() as session:
        ours = await find_by_order(session, order_id)
    assert ours is not None
    assert ours.create.details.get("payment_id") in {None, str(first.payment_id)}
    refunds = await shell("look-up", "subscription", str(first.recurring_id), "--account", "Shop", "--method", "refund")
    assert "has no records" in refunds.out
    assert (await shell("look-up", "subscription", str(uuid4()), "--account", "Shop")).status == 1


@one_database
async def test_an_order_of_nobody_is_only_shown(
    shell: Shell, services: Services, account: MerchantAccount, sandbox: tuple[str, Sandbox]
) -> None:
    paid(sandbox[1], "invoice-7")
    said = await shell("look-up", "order", "invoice-7", "--account", "Shop")
    assert "100.00 UAH" in said.out
    assert "Posted" not in said.out
    (await shell("look-up", "order", "invoice-7")).failed("there is no payment 'invoice-7'")
    assert "has no records" in (await shell("look-up", "order", "nobody", "--account", "Shop")).out


async def test_what_another_store_shares_the_point_of_sale_with_is_not_posted(
    shell: Shell, services: Services, account: MerchantAccount, sandbox: tuple[str, Sandbox], control: SandboxControl
) -> None:
    order_id = await refunded_silently(services, account, sandbox, control)
    other = await add_account(
        services, await install(services, "https://other.example.com/graphql/"), name="Other", base_url=sandbox[0]
    )
    for words in (("order", order_id), ("operation", order_id, "refund")):
        said = await shell("look-up", *words, "--account", other.id, "--json")
        assert said.json["posted"] == []
    await shell("look-up", "period", "--account", other.id, "--from", DAY, "--to", DAY)
    assert await states(services, order_id) == [(Kind.CREATE, State.SUCCESS)]


@one_database
@pytest.mark.parametrize("name", ["\0", "\ud800", "x" * 5000, "..", " ", "\n"])
async def test_names_that_no_gateway_gives(shell: Shell, account: MerchantAccount, name: str) -> None:
    for words in (("order", name), ("operation", name, "refund"), ("subscription", name)):
        said = await shell("look-up", *words, "--account", "Shop")
        said.failed("This is not a valid gateway ID.")


@one_database
async def test_one_notification_is_asked_for_again(
    shell: Shell, services: Services, account: MerchantAccount, sandbox: tuple[str, Sandbox], control: SandboxControl
) -> None:
    order_id = await known(services, account)
    payment = paid(sandbox[1], order_id)
    transaction = str(payment.transaction_id or UUID(int=0))
    said = await shell("payments", "resend", order_id, "--method", "purchase", "--transaction-id", transaction)
    assert said.out == "purchase: the gateway sends its notifications again\n"
    said = await shell("payments", "resend", order_id)
    assert said.out == "purchase: the gateway sends its notifications again\n"
    said = await shell("payments", "resend", order_id, "--method", "refund")
    assert said.out == "refund: the gateway has no record\n"
    unknown = await shell("payments", "resend", order_id, "--method", "purchase", "--transaction-id", "other")
    assert unknown.out == "purchase: the gateway has no record\n"
    for odd in (("--transaction-id", "x"), ("--method", "purchase", "--transaction-id", "\0")):
        said = await shell("payments", "resend", order_id, *odd)
        assert said.status == 2
