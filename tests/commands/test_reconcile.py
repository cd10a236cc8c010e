"""``reconcile``: an operator compares the books, sees what was found, and says what was looked at."""

import re
from collections.abc import AsyncIterator, Callable
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from uuid import UUID

import pytest
from pydantic import SecretStr

from app.services import Services
from app.store.reconciliations import begin_comparison, compare_gap
from app.store.tables import MerchantAccount
from gateway_client.sandbox.control.client import SandboxControl
from gateway_client.sandbox.core.records import Payment
from gateway_client.sandbox.sandbox import Sandbox
from gateway_client.sandbox.scripting import FaultRule
from gateway_client.sandbox.server import running_sandbox
from gateway_client.sandbox.settings import Behaviour, PointOfSale, SandboxSettings
from tests.commands.books import operation, store_payment
from tests.commands.conftest import KEYS, POS_ID, Shell, add_account, one_database

PAYMENT = UUID("36c59597-f4c4-456e-8f6e-91af30f1df96")
MIDNIGHT = datetime(2026, 3, 10, tzinfo=UTC)
NOW = MIDNIGHT + timedelta(hours=9, minutes=30)
PERIOD_END = r"\d{4}-\d\d-\d\d \d\d:\d\d"


@pytest.fixture
def clock() -> Callable[[], datetime]:
    """Let the app and the gateway have the same moment, whose day does not end while a test runs."""
    return lambda: NOW


@pytest.fixture
async def sandbox(clock: Callable[[], datetime]) -> AsyncIterator[tuple[str, Sandbox]]:
    point = PointOfSale(
        pos_id=UUID(POS_ID),
        api_key=KEYS["GATEWAY_API_KEY"],
        api_secret=SecretStr(KEYS["GATEWAY_API_SECRET"]),
        endpoints_key=SecretStr(KEYS["GATEWAY_ENDPOINTS_KEY"]),
        behaviour=Behaviour(amount_endings=False),
    )
    async with running_sandbox(SandboxSettings(port=0, points_of_sale=(point,), clock=clock)) as (url, app):
        yield url, app.state.sandbox


@pytest.fixture
async def control(sandbox: tuple[str, Sandbox]) -> AsyncIterator[SandboxControl]:
    async with SandboxControl(sandbox[0]) as control:
        yield control


@pytest.fixture
async def account(services: Services, installed: int, sandbox: tuple[str, Sandbox]) -> MerchantAccount:
    row = await add_account(services, installed, base_url=sandbox[0])
    return await services.accounts.change(row.id, created_at=MIDNIGHT)


def paid(sandbox: Sandbox, order_id: str, payment_id: UUID = PAYMENT, at: datetime = MIDNIGHT) -> Payment:
    """Let the gateway have a payment of 100.00 UAH."""
    payment = Payment(
        payment_id=payment_id,
        order_id=order_id,
        pos_id=UUID(POS_ID),
        transaction_id=payment_id,
        amount=Decimal("100.00"),
        currency="UAH",
        created_at=at,
        processed_at=at,
        mode="hosted",
        method="purchase",
        checkout_id=payment_id,
        expires_at=at,
    )
    payment.set_status("1000", at)
    sandbox.state.add_payment(payment)
    return payment


async def known(services: Services, account: MerchantAccount) -> str:
    """A payment that we know, and have told."""
    create = operation(operation_id=str(PAYMENT), psp_reference="p", created_at=MIDNIGHT, updated_at=MIDNIGHT)
    row = await store_payment(services, account, [create], trial=True, created_at=MIDNIGHT, updated_at=MIDNIGHT)
    return row.order_id


async def test_books_that_agree(
    shell: Shell, services: Services, account: MerchantAccount, sandbox: tuple[str, Sandbox]
) -> None:
    paid(sandbox[1], await known(services, account))
    said = await shell("reconcile", "run", "--account", "Shop", "--json")
    assert said.status == 0, said
    [run] = said.json
    assert (run["state"], run["orders"], run["repaired"], run["put_to_people"]) == ("done", 1, 0, 0)
    assert (run["source"], run["account"], run["failure"]) == ("register", account.id, None)
    assert f"{run['run']}: Shop" in (await shell("reconcile", "history")).out
    assert (await shell("reconcile", "show", str(run["run"]), "--json")).json["differences"] == []


@one_database
async def test_a_comparison_of_a_gap_that_waits_for_its_hour_is_shown_so(
    shell: Shell, services: Services, account: MerchantAccount
) -> None:
    async with services.database.transaction() as session:
        for minutes in (10, 20):
            now = MIDNIGHT + timedelta(minutes=minutes)
            await compare_gap(session, now - timedelta(minutes=2), now)
            if minutes == 10:
                await begin_comparison(session, 2, now)
    newest, _ = (await shell("reconcile", "history")).out.splitlines()
    assert newest == f"3: Shop, {MIDNIGHT:%Y-%m-%d} 00:03 to {MIDNIGHT:%Y-%m-%d} 00:20 UTC: begins at 01:10 UTC"


async def test_what_may_still_change_is_left_out_and_the_command_says_so(
    shell: Shell, services: Services, account: MerchantAccount, sandbox: tuple[str, Sandbox]
) -> None:
    """An operator who has just acted would otherwise take "done" for the answer."""
    paid(sandbox[1], await known(services, account))
    said = await shell("reconcile", "run")
    assert re.search(rf": Shop, {PERIOD_END} to {PERIOD_END} UTC: done; 1 order compared, 0 repaired, ", said.out)
    assert "The last 15 minutes are left out, because they may still change." in said.out
    [run] = (await shell("reconcile", "run", "--json")).json
    assert datetime.fromisoformat(run["to"]) == NOW - timedelta(minutes=15)


async def test_a_dry_run_says_what_differs_and_changes_nothing(
    shell: Shell, services: Services, account: MerchantAccount, sandbox: tuple[str, Sandbox], control: SandboxControl
) -> None:
    order_id = await known(services, account)
    paid(sandbox[1], order_id)
    await control.portal(order_id, "refund", Decimal("30.00"), silent=True)
    days = ("--from", f"{MIDNIGHT:%Y-%m-%d}", "--to", f"{NOW:%Y-%m-%d}")
    said = await shell("reconcile", "run", *days, "--dry-run")
    assert said.status == 1
    assert re.search(rf"^Shop, {MIDNIGHT:%Y-%m-%d} 00:00 to {PERIOD_END} UTC: 1 difference$", said.out, re.MULTILINE)
    assert "left out" not in said.out
    [preview] = (await shell("reconcile", "run", *days, "--dry-run", "--json")).json
    assert preview["from"] == f"{MIDNIGHT:%Y-%m-%d}T00:00:00.000Z"
    assert datetime.fromisoformat(preview["to"]) == NOW
    assert f"{order_id}: missed, found; gateway: refund success 30.00 UAH, ours: nothing" in said.out
    assert (await shell("reconcile", "history")).out == "Nothing has been compared yet.\n"
    [run] = (await shell("reconcile", "run", *days, "--json")).json
    assert (run["repaired"], run["put_to_people"]) == (1, 0)
    [found] = (await shell("reconcile", "show", str(run["run"]), "--json")).json["differences"]
    assert (found["kind"], found["state"], found["order_id"]) == ("missed", "repaired", order_id)
    assert "missed, repaired" in (await shell("reconcile", "show", str(run["run"]))).out


async def test_paid_orders_of_nobody_are_told_until_somebody_has_looked(
    shell: Shell, account: MerchantAccount, sandbox: tuple[str, Sandbox]
) -> None:
    paid(sandbox[1], "invoice-7")
    assert (await shell("reconcile", "run")).status == 1
    said = await shell("attention", "--json")
    assert [(finding["what"], finding["count"], finding["account"]) for finding in said.json] == [
        ("unknown-orders", 1, account.id)
    ]
    assert (await shell("reconcile", "looked-at", "--json")).json == {"looked_at": 1}
    assert (await shell("attention")).status == 0
    assert (await shell("reconcile", "looked-at")).out == "reviewed: 0\n"


async def test_what_cannot_be_compared(shell: Shell, services: Services, installed: int) -> None:
    row = await add_account(services, installed)  # nobody is there
    await services.accounts.change(row.id, created_at=MIDNIGHT)
    said = await shell("reconcile", "run")
    assert said.status == 1
    assert "The gateway did not provide its records" in said.out
    assert "will retry at" in said.out
    dry = await shell("reconcile", "run", "--dry-run", "--json")
    assert dry.status == 1
    assert dry.json[0]["error"]


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (("--from", "yesterday"), "'yesterday' is not a date"),
        (("--to", "2026-11-21T12:00"), "has no time zone"),
        (("--from", "2026-11-21", "--to", "2026-11-20"), "there is nothing to compare"),
        (("--account", "Nobody"), "there is no merchant account 'Nobody'"),
    ],
)
async def test_what_cannot_be_meant(
    shell: Shell, account: MerchantAccount, words: tuple[str, ...], complaint: str
) -> None:
    said = await shell("reconcile", "run", *words)
    said.failed(complaint, status=2 if "date" in complaint or "zone" in complaint else 1)


async def test_there_is_no_such_comparison(shell: Shell, account: MerchantAccount) -> None:
    (await shell("reconcile", "show", "7")).failed("there is no comparison 7")


async def test_what_the_merchant_has_at_the_gateway(
    shell: Shell, services: Services, account: MerchantAccount, installed: int
) -> None:
    said = await shell("balances", "--account", "Shop")
    assert said.status == 0, said
    assert "10,000.00" in said.out
    [shop] = (await shell("balances", "--json")).json
    [balance] = shop["balances"]
    assert (balance["currency"], balance["available"]) == ("UAH", Decimal("10000.00"))
    one = (await shell("balances", "--account", "Shop", "--balance", balance["id"], "--json")).json
    assert [account["balances"] for account in one] == [[balance]]
    assert (await shell("balances", "--account", "Shop", "--balance", balance["id"][::-1])).status == 1
    (await shell("balances", "--balance", balance["id"])).failed("name the --account", status=2)
    await add_account(services, installed, name="Away")  # nobody is there
    said = await shell("balances")
    assert said.status == 1
    assert "10,000.00" in said.out
    assert "Away: " in said.err


@pytest.mark.usefixtures("account")
class TestRegister:
    DAY = f"{MIDNIGHT:%Y-%m-%d}"
    PERIOD = ("--account", "Shop", "--from", DAY, "--to", DAY)

    async def test_as_csv(self, shell: Shell, sandbox: tuple[str, Sandbox]) -> None:
        paid(sandbox[1], "=1+1")
        said = await shell("register", *self.PERIOD, "--field", "orderId", "--field", "amount", "--field", "dateTime")
        assert said.status == 0, said
        assert said.out.splitlines() == ["orderId,amount,dateTime (UTC)", f"'=1+1,100.00,{MIDNIGHT:%Y-%m-%d %H:%M:%S}"]

    async def test_as_json_lines_and_only_some(self, shell: Shell, sandbox: tuple[str, Sandbox]) -> None:
        paid(sandbox[1], "invoice-7")
        said = await shell("register", *self.PERIOD, "--form", "ndjson")
        assert (said.json["orderId"], said.json["originalAmount"], said.json["status"]) == (
            "invoice-7", "100.00", "success",
        )  # fmt: skip
        said = await shell("register", *self.PERIOD, "--form", "ndjson", "--status", "failure", "--method", "refund")
        assert (said.status, said.out) == (0, "")

    async def test_what_breaks_off(self, shell: Shell, sandbox: tuple[str, Sandbox], control: SandboxControl) -> None:
        paid(sandbox[1], "invoice-7")
        await control.options(register_polls=0)
        await control.fault(FaultRule(path="/streaming-report/fetch/*", effect="truncate"))
        said = await shell("register", *self.PERIOD, "--form", "ndjson")
        assert said.status == 1
        assert "the register is incomplete" in said.err
        assert list(said.json) == ["not_whole"], "a file of it does not look as if it were all"
        await control.fault(FaultRule(path="/streaming-report/fetch/*", effect="truncate"))
        said = await shell("register", *self.PERIOD)
        assert said.out.splitlines()[-1] == "NOT WHOLE: the register was interrupted here; download it again"
        await control.fault(FaultRule(path="/streaming-report/fetch/*", effect="truncate"))
        said = await shell("register", *self.PERIOD, "--form", "xlsx")
        assert (said.status, said.out) == (1, ""), "no book that can be opened and is not whole"
        assert (await shell("register", *self.PERIOD, "--form", "xlsx")).out.startswith("PK")

    async def test_a_period_that_ends_before_it_begins(self, shell: Shell) -> None:
        said = await shell("register", "--account", "Shop", "--from", "2026-11-21", "--to", "2026-11-19")
        said.failed("ends before it starts", status=2)
