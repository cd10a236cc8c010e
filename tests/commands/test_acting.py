"""``payments capture``, ``void``, ``refund`` and ``cancel``."""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator
from decimal import Decimal

import pytest

from app.core.payment import Operation
from app.core.vocabulary import Flow, Kind, State
from app.flows.on_demand import look_up_now
from app.services import Services
from app.store.aggregates import ByOrder, find_by_order
from app.store.tables import MerchantAccount
from integration_base_tests.loopback import Silence, json_reply
from integration_base_tests.waiting import eventually
from tests.commands.books import ORDER, operation, store_payment
from tests.commands.conftest import Shell, add_account, clean_environment, one_database
from tests.payments.fake_gateway import BROKEN, POS_ID, FakeGateway, open_fake_gateway, payment, refusal_reply
from tests.payments.fake_gateway import operation as record
from tests.payments.split.people import NAMES, POTTER, SMITH, rules

NAMELESS = 1_000_660_000  # of a namespace of OpenShift


@pytest.fixture
async def gateway() -> AsyncIterator[FakeGateway]:
    async with open_fake_gateway(FakeGateway()) as gateway:
        yield gateway


@pytest.fixture
async def account(services: Services, installed: int, gateway: FakeGateway) -> MerchantAccount:
    """A merchant account at a gateway that says what a test tells it to say."""
    return await add_account(services, installed, base_url=gateway.url, pos_id=POS_ID)


async def asked_for(services: Services) -> list[Operation]:
    async with services.database.transaction() as session:
        aggregate = await find_by_order(session, ORDER)
    assert aggregate is not None
    return aggregate.operations[1:]


async def test_a_refund(shell: Shell, services: Services, account: MerchantAccount, gateway: FakeGateway) -> None:
    await store_payment(services, account)
    (await shell("payments", "refund", ORDER)).failed(
        "this is not an interactive terminal: confirm with --yes", status=2
    )
    gateway.will_answer(json_reply(record("refund", ORDER, "30.00")))
    told = await shell("payments", "refund", ORDER, "--amount", "30", "--reason", "too small", "--yes")
    assert (told.status, told.out) == (0, "Done: refund 30.00 UAH.\n"), told.err
    assert gateway.requests[-1].json["comment"] == "too small"
    gateway.will_answer(json_reply(record("refund", ORDER, "70.00", "pending")))
    told = await shell("payments", "refund", ORDER, "--yes", "--json")
    assert told.json["asked"]["amount"] == Decimal("70.00")  # all that was left
    assert told.json["asked"]["state"] == "pending"
    assert told.json["standing"] == "partially refunded, refund under way"
    assert [operation.asked_by_saleor for operation in await asked_for(services)] == [False, False]
    story = (await shell("payments", "show", ORDER, "--every-step")).out
    assert "asks in the app to refund 30.00 UAH" in " ".join(story.split())
    (await shell("payments", "refund", ORDER, "--yes")).failed("nothing is left to refund")


async def test_a_refund_by_a_user_without_a_name_is_by_its_number(
    shell: Shell, services: Services, account: MerchantAccount, gateway: FakeGateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Clusters run containers as any user, of whom the image knows nothing."""
    monkeypatch.setattr(os, "getuid", lambda: NAMELESS)
    await store_payment(services, account)
    gateway.will_answer(json_reply(record("refund", ORDER, "30.00")))
    nobody = dict.fromkeys(("LOGNAME", "USER", "LNAME", "USERNAME"))
    told = await shell("payments", "refund", ORDER, "--amount", "30", "--yes", **nobody)
    assert (told.status, told.out) == (0, "Done: refund 30.00 UAH.\n"), told.err
    assert f'"user {NAMELESS}"' in (await shell("payments", "show", ORDER, "--json")).out


async def test_a_refund_that_the_balance_does_not_cover_is_warned_of_and_done(
    shell: Shell, services: Services, account: MerchantAccount, gateway: FakeGateway
) -> None:
    await store_payment(services, account)
    has = {"id": "1", "name": "x", "currency": "UAH", "balances": {"available": Decimal("12.50")}}
    gateway.will_answer_look_ups(json_reply({"accounts": [has]}), json_reply({"accounts": [has]}))
    gateway.will_answer(json_reply(record("refund", ORDER, "30.00")))
    told = await shell("payments", "refund", ORDER, "--amount", "30", "--yes", "--json")
    assert told.status == 0
    assert told.err == ("warning: The balance at the gateway is 12.50 UAH; this refund of 30.00 UAH may be refused.\n")
    gateway.will_answer(json_reply(record("refund", ORDER, "12.50")))
    assert (await shell("payments", "refund", ORDER, "--amount", "12.5", "--yes")).err == ""


@pytest.mark.law(2)
@pytest.mark.parametrize("ended", [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)])
async def test_a_refund_that_is_interrupted_is_not_known_and_whoever_interrupts_is_told(
    environment: dict[str, str],
    services: Services,
    account: MerchantAccount,
    gateway: FakeGateway,
    ended: tuple[signal.Signals, int],
) -> None:
    """By a person, by whoever gives commands a time (`timeout`, cron), or with the terminal."""
    await store_payment(services, account)
    gateway.will_answer(Silence())
    # As in a terminal: what runs in the background of a script lets its children ignore Ctrl+C.
    begin = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); from app.cli import main; main()"
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", begin, "payments", "refund", ORDER, "--yes",
        env=clean_environment(environment), stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
    )  # fmt: skip

    async def is_requested() -> bool:
        return any(request.path.endswith("/refund") for request in gateway.requests)

    await eventually(is_requested)
    number, status = ended
    process.send_signal(number)
    out, err = await process.communicate()

    assert (process.returncode, out) == (status, b"")
    assert err.decode() == (
        "error: interrupted: what the command was doing may be done; check that before you repeat it\n"
    )
    (refund,) = await asked_for(services)
    assert refund.state not in {State.SUCCESS, State.FAILURE}


async def test_a_request_that_is_named_is_done_once(
    shell: Shell, services: Services, account: MerchantAccount, gateway: FakeGateway
) -> None:
    await store_payment(services, account)
    gateway.will_answer(json_reply(record("refund", ORDER, "30.00")))
    command = ("payments", "refund", ORDER, "--amount", "30.00", "--yes", "--request", "ticket-7781")
    assert (await shell(*command)).out == (await shell(*command)).out == "Done: refund 30.00 UAH.\n"
    assert gateway.calls == ["refund"]
    (await shell(*command, "--amount", "31.00")).failed("with different details")


@pytest.mark.law(4)
@pytest.mark.parametrize("is_answered", [True, False])
@pytest.mark.parametrize(
    ("kind", "flow"), [("refund", Flow.CHARGE), ("capture", Flow.AUTHORIZATION), ("void", Flow.AUTHORIZATION)]
)
async def test_a_request_for_everything_that_is_named_is_done_once(
    shell: Shell, services: Services, account: MerchantAccount, gateway: FakeGateway, *, kind: str, flow: Flow,
    is_answered: bool,
) -> None:  # fmt: skip
    """When it is repeated, nothing is left of which it could be everything."""
    await store_payment(services, account, flow=flow)
    gateway.will_answer(json_reply(record(kind, ORDER, "100.00")) if is_answered else BROKEN)
    command = ("payments", kind, ORDER, "--yes", "--request", "ticket-7781")
    first, second = await shell(*command), await shell(*command)
    assert first.status == 0
    assert (second.status, second.out) == (first.status, first.out), second.err
    assert gateway.calls == [kind]


@pytest.mark.law(4)
async def test_the_rest_of_a_payment_is_not_what_was_requested_by_name(
    shell: Shell, services: Services, account: MerchantAccount, gateway: FakeGateway
) -> None:
    await store_payment(services, account)
    gateway.will_answer(json_reply(record("refund", ORDER, "30.00")), json_reply(record("refund", ORDER, "70.00")))
    command = ("payments", "refund", ORDER, "--yes", "--request")
    assert (await shell(*command, "ticket-7781", "--amount", "30")).status == 0
    assert (await shell(*command, "ticket-7782")).out == "Done: refund 70.00 UAH.\n"
    (await shell(*command, "ticket-7781")).failed("with different details")
    assert (await shell(*command, "ticket-7782")).out == "Done: refund 70.00 UAH.\n"
    assert gateway.calls == ["refund", "refund"]


@pytest.mark.law(4)
@pytest.mark.parametrize("since", ["the other refund failed", "the payment is in doubt"])
async def test_a_request_for_everything_that_is_named_stays_what_it_was(
    shell: Shell, services: Services, account: MerchantAccount, gateway: FakeGateway, since: str
) -> None:
    """It was requested beside a refund whose outcome was open, and took what that one would leave."""
    await store_payment(services, account)
    gateway.will_answer(json_reply(record("refund", ORDER, "30.00", "pending", operation_id="first")))
    assert (await shell("payments", "refund", ORDER, "--amount", "30", "--yes")).status == 0
    command = ("payments", "refund", ORDER, "--yes", "--request", "ticket-7781")
    accepted = await shell(*command)
    assert accepted.out.startswith("Request accepted.")
    aggregate = await services.payments.find(ByOrder(ORDER))
    assert aggregate is not None
    first = aggregate.operations[1]
    if since == "the other refund failed":
        seen = record("refund", ORDER, "30.00", "failure", operation_id="first")
    else:
        seen = payment(ORDER, "failure", "100.00")
    gateway.book[ORDER] = [seen]
    await look_up_now(services, ORDER)
    changed = await services.payments.find(ByOrder(ORDER))
    assert changed is not None
    assert (changed.operation_by_id(first.id).state, changed.create.contradicted) in {
        (State.FAILURE, False), (State.PENDING, True),
    }  # fmt: skip

    repeated = await shell(*command)
    assert (repeated.status, repeated.err) == (0, "")
    assert [(refund.kind, refund.amount) for refund in await asked_for(services)] == [
        (Kind.REFUND, Decimal("30.00")), (Kind.REFUND, Decimal("70.00")),
    ]  # fmt: skip
    (await shell(*command, "--amount", "30")).failed("with different details")


async def test_a_reservation(shell: Shell, services: Services, account: MerchantAccount, gateway: FakeGateway) -> None:
    await store_payment(services, account, flow=Flow.AUTHORIZATION)
    (await shell("payments", "refund", ORDER, "--yes")).failed("nothing has been charged yet")
    (await shell("payments", "capture", ORDER, "--amount", "100.01", "--yes")).failed("Charge at most 100.00 UAH")
    gateway.will_answer(json_reply(record("capture", ORDER, "60.00")))
    assert "charge 60.00 UAH" in (await shell("payments", "capture", ORDER, "--amount", "60.00", "--yes")).out
    (await shell("payments", "void", ORDER, "--yes")).failed("60.00 UAH has already been charged")


@one_database
async def test_a_reservation_is_released(
    shell: Shell, services: Services, account: MerchantAccount, gateway: FakeGateway
) -> None:
    await store_payment(services, account, flow=Flow.AUTHORIZATION)
    gateway.will_answer(json_reply(record("void", ORDER, "100.00")))
    assert "release the authorization" in (await shell("payments", "void", ORDER, "--yes")).out


@one_database
async def test_an_unpaid_payment_is_cancelled(
    shell: Shell, services: Services, account: MerchantAccount, gateway: FakeGateway
) -> None:
    await store_payment(services, account, [operation(state=State.INIT)])
    (await shell("payments", "void", ORDER, "--yes")).failed("cancel the payment instead")
    gateway.will_answer(json_reply([payment(ORDER, "failure", "100.00", status_code="6007")]))
    command = ("payments", "cancel", ORDER, "--yes", "--request", "ticket-7781")
    assert (await shell(*command)).out == (await shell(*command)).out == "Done: cancel the payment.\n"
    assert [operation.kind for operation in await asked_for(services)] == [Kind.CANCEL]


@one_database
async def test_what_the_gateway_refuses_and_what_nobody_knows(
    shell: Shell, services: Services, account: MerchantAccount, gateway: FakeGateway
) -> None:
    await store_payment(services, account)
    gateway.will_answer(refusal_reply("Insufficient balance", "P-400"), BROKEN)
    told = await shell("payments", "refund", ORDER, "--yes")
    assert told.status == 1
    assert "error: the operation failed: The gateway refused the request: Insufficient balance" in told.err
    assert "The outcome is not known yet" in (await shell("payments", "refund", ORDER, "--yes")).out


@one_database
async def test_shares_are_named_as_the_rules_name_them(
    shell: Shell, services: Services, account: MerchantAccount, gateway: FakeGateway
) -> None:
    await services.accounts.change(account.id, split_rules=rules(names=NAMES).model_dump(mode="json"))
    create = operation(shares={POTTER: Decimal("60.00"), SMITH: Decimal("40.00")})
    await store_payment(services, account, [create])
    refund = ("payments", "refund", ORDER, "--yes")
    (await shell(*refund, "--from", "Smith=40.01")).failed("sub-merchant Smith: 40.00 UAH is left")
    (await shell(*refund, "--from", "Smith")).failed("must be SUB_MERCHANT=AMOUNT", status=2)
    gateway.will_answer(json_reply(record("refund", ORDER, "25.00")))
    told = await shell(*refund, "--from", "Smith=15", "--from", f"{POTTER}=10.00")
    assert told.out == "Done: refund 25.00 UAH.\n", told.err
    assert {share["sub_merchant_id"]: share["amount"] for share in gateway.requests[-1].json["split"]} == {
        POTTER: Decimal("10.00"),
        SMITH: Decimal("15.00"),
    }


async def test_a_subscription_is_cancelled(
    shell: Shell, services: Services, account: MerchantAccount, gateway: FakeGateway
) -> None:
    await store_payment(services, account, recurring_id="rec-1", recurring_status="active")
    (await shell("payments", "cancel-subscription", ORDER)).failed("confirm with --yes", status=2)
    gateway.will_answer(json_reply({"recurring_status": "canceled"}))
    told = await shell("payments", "cancel-subscription", ORDER, "--yes")
    assert (told.status, told.out) == (0, "The subscription was cancelled. Nothing more will be charged for it.\n"), (
        told.err
    )
    told = await shell("payments", "cancel-subscription", ORDER, "--yes", "--json")
    assert told.json["subscription"] == "canceled"


async def test_a_later_charge_is_refunded(
    shell: Shell, services: Services, account: MerchantAccount, gateway: FakeGateway
) -> None:
    later = operation(Kind.RECURRING, operation_id="second", amount=Decimal("40.00"))
    await store_payment(services, account, [operation(operation_id="first"), later], recurring_id="rec-1")
    gateway.will_answer(json_reply(record("refund", ORDER, "40.00", payment_id="second")))
    told = await shell("payments", "refund", ORDER, "--charge", "second", "--yes", "--json")
    assert told.status == 0, told.err
    assert (told.json["asked"]["amount"], told.json["asked"]["state"]) == (Decimal("40.00"), "success")
    assert gateway.requests[-1].path.endswith("/recurring/rec-1/payments/second/refund")
    again = await shell("payments", "refund", ORDER, "--charge", "second", "--yes")
    again.failed("nothing is left to refund")


@one_database
async def test_dinars_are_typed_with_three_decimals(
    shell: Shell, services: Services, account: MerchantAccount, gateway: FakeGateway
) -> None:
    paid = operation(amount=Decimal(2000), currency="KWD")
    await store_payment(services, account, [paid], currency="KWD", amount=Decimal(2000))
    refund = ("payments", "refund", ORDER, "--yes", "--amount")
    (await shell(*refund, "10.255")).failed("The amount 10.255 has more than two decimal places")
    (await shell(*refund, "10,250")).failed("'10,250' is not an amount", status=2)
    gateway.will_answer(json_reply(record("refund", ORDER, "10.25", currency="KWD")))
    told = await shell(*refund, "10.250")
    assert (told.status, told.out) == (0, "Done: refund 10.25 KWD.\n"), told.err
