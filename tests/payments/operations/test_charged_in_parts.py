"""Staff charge a reservation in parts and release it, where a partial capture leaves the rest reserved."""

from typing import Any

import pytest

from app.core.vocabulary import Kind, State
from app.flows.on_demand import look_up_now
from app.flows.staff.manual_resolution import Decision, settle
from app.rules.issues import Issue, IssueCode, issue_from_json
from app.rules.problems import open_problems
from integration_base_tests.loopback import Behaviour, HangUp, ReceivedRequest, json_reply
from saleor_app_sdk.testing.records import Amounts
from tests.payments.fake_gateway import BROKEN, action_of, operation, refusal_reply
from tests.payments.fake_saleor import amounts
from tests.payments.shop import TOTAL, Shop

REST = "469.50"


@pytest.fixture
async def keeping(reserved_shop: Shop) -> Shop:
    """A shop whose shopper has reserved 569.50, at a gateway where the rest of a partial charge stays reserved."""
    accounts = reserved_shop.services.accounts
    reserved_shop.account = await accounts.change(reserved_shop.account.id, part_capture="keeps_rest")
    return reserved_shop


def done(shop: Shop, method: str, amount: str, **more: Any) -> dict[str, Any]:
    """Return the record of what the gateway does now."""
    record = operation(method, shop.order_id, amount, **more)
    shop.gateway.book[shop.order_id].append(record)
    return record


async def problems_of(shop: Shop) -> list[Issue]:
    """Return the open problems about the rest of the reservation."""
    issues = [issue_from_json(problem.message) for problem in open_problems((await shop.aggregate()).payment)]
    return [issue for issue in issues if issue is not None and issue.code is not IssueCode.NOT_ORDERED]


def voids(shop: Shop, amount: str, answer: Behaviour | None = None) -> None:
    """Let the gateway release what it holds when it is asked; None: it answers with the record."""
    record = operation("void", shop.order_id, amount)

    async def release(request: ReceivedRequest) -> None:
        if action_of(request) == "void":
            shop.gateway.book[shop.order_id].append(record)

    shop.gateway.on_request = release
    shop.gateway.will_answer(answer or json_reply(record))


@pytest.mark.law(3)
@pytest.mark.parametrize("void", [None, HangUp(), BROKEN], ids=["answered", "hung up", "500"])
async def test_a_release_that_waited_for_a_charge_which_failed_releases_everything(
    keeping: Shop, void: Behaviour | None
) -> None:
    """It was requested for the rest beside the charge; now the gateway releases that part as well."""
    keeping.gateway.will_answer(HangUp())
    await keeping.request_action("CHARGE", "100.00", "first")
    assert (await keeping.request_action("CANCEL", REST, "second")).result is None
    voids(keeping, TOTAL, void)
    await keeping.pass_time(hours=6)
    assert keeping.gateway.calls == ["capture", "void"]
    assert (await keeping.operation(Kind.CAPTURE)).state is State.FAILURE
    assert (await keeping.operation(Kind.VOID)).state is State.SUCCESS
    assert keeping.amounts == amounts(canceled=TOTAL)
    assert keeping.transaction.actions == []


@pytest.mark.law(3)
async def test_a_release_that_waited_for_a_charge_releases_the_rest(keeping: Shop) -> None:
    keeping.gateway.will_answer(HangUp())
    await keeping.request_action("CHARGE", "100.00", "first")
    await keeping.request_action("CANCEL", REST, "second")
    done(keeping, "capture", "100.00")
    voids(keeping, REST)
    await keeping.pass_time(hours=6)
    assert keeping.amounts == amounts(charged="100.00", canceled=REST)


class TestOthersActWhileOneWaits:
    """A charge is under way, a second request waits for it, and a third person acts in the merchant portal."""

    @pytest.mark.law(3)
    async def test_a_charge_of_more_than_is_left_now_is_not_sent(self, keeping: Shop) -> None:
        pending = operation("capture", keeping.order_id, "100.00", "pending", operation_id="first")
        keeping.gateway.will_answer(json_reply(pending))
        await keeping.request_action("CHARGE", "100.00", "first")
        assert (await keeping.request_action("CHARGE", "200.00", "second")).result is None
        for name, amount in (("portal", "300.00"), ("first", "100.00")):
            await keeping.notify(done(keeping, "capture", amount, operation_id=name))
        await keeping.pass_time(minutes=10)
        assert keeping.gateway.calls == ["capture"]
        refused = await keeping.operation(Kind.CAPTURE, 1)
        assert (refused.state, "169.50 UAH" in (refused.message or "")) == (State.FAILURE, True)
        assert keeping.saleor.reported_types.count("CHARGE_FAILURE") == 1
        assert keeping.amounts == amounts(charged="400.00", authorized="169.50")
        assert keeping.transaction.actions == ["CANCEL", "CHARGE", "REFUND"]
        assert await problems_of(keeping) == []

    @pytest.mark.law(3)
    @pytest.mark.parametrize(("action", "amount"), [("CHARGE", "200.00"), ("CANCEL", REST)])
    async def test_nothing_is_sent_of_what_was_released(self, keeping: Shop, action: str, amount: str) -> None:
        pending = operation("capture", keeping.order_id, "100.00", "pending", operation_id="first")
        keeping.gateway.will_answer(json_reply(pending))
        await keeping.request_action("CHARGE", "100.00", "first")
        assert (await keeping.request_action(action, amount, "second")).result is None
        await keeping.notify(done(keeping, "capture", "100.00", operation_id="first"))
        await keeping.notify(done(keeping, "void", REST, operation_id="portal"))
        await keeping.pass_time(minutes=10)
        assert keeping.gateway.calls == ["capture"]
        assert keeping.amounts == amounts(charged="100.00", canceled=REST)
        assert keeping.saleor.reported_types.count(f"{action}_FAILURE") == 1


@pytest.mark.parametrize("action", ["CHARGE", "CANCEL"])
async def test_while_the_rest_is_being_released_staff_are_told_so(keeping: Shop, action: str) -> None:
    keeping.gateway.will_answer(json_reply(done(keeping, "capture", "100.00")))
    await keeping.request_action("CHARGE", "100.00", "first")
    keeping.gateway.will_answer(HangUp())
    await keeping.request_action("CANCEL", REST, "second")
    answer = await keeping.request_action(action, "50.00", "third")
    assert answer.result == f"{action}_FAILURE"
    assert (answer.message or "").startswith("The authorization of 469.50 UAH is being released right now: ")


@pytest.mark.law(10)
@pytest.mark.parametrize(
    "refusal",
    [
        refusal_reply("This reservation was captured or voided before", "4150"),
        json_reply({"message": "Not possible", "args": {"code": "P-4150", "status_code": "4150"}}, 400),
        None,
    ],
    ids=["code", "status code", "record"],
)
@pytest.mark.parametrize(("action", "amount"), [("CHARGE", "50.00"), ("CANCEL", REST)])
async def test_a_rest_that_the_gateway_has_not_kept_is_not_offered_for_ever(
    keeping: Shop, action: str, amount: str, refusal: Behaviour | None
) -> None:
    """The gateway releases the rest with the first charge, and the account says that it keeps it."""
    method = {"CHARGE": "capture", "CANCEL": "void"}[action]
    keeping.gateway.will_answer(json_reply(done(keeping, "capture", "100.00")))
    await keeping.request_action("CHARGE", "100.00", "first")
    assert keeping.amounts == amounts(authorized=REST, charged="100.00")
    keeping.gateway.will_answer(refusal or json_reply(operation(method, keeping.order_id, amount, status="failure")))
    answer = await keeping.request_action(action, amount, "second")
    assert answer.result == f"{action}_FAILURE"
    await keeping.pass_time(minutes=1)
    assert keeping.amounts == amounts(charged="100.00", canceled=REST)
    assert keeping.transaction.actions == ["REFUND"]
    assert await problems_of(keeping) == [Issue(IssueCode.REST_NOT_KEPT)]


@pytest.mark.law(10)
async def test_a_rest_that_is_charged_after_all_is_reported_again(keeping: Shop) -> None:
    """In the gateway's portal: what it refused before was not what we took it for."""
    keeping.gateway.will_answer(json_reply(done(keeping, "capture", "100.00")))
    await keeping.request_action("CHARGE", "100.00", "first")
    keeping.gateway.will_answer(refusal_reply("Invalid operation", "4150"))
    await keeping.request_action("CHARGE", "50.00", "second")
    await keeping.pass_time(minutes=1)
    await keeping.notify(done(keeping, "capture", "60.00"))
    await keeping.pass_time(hours=6)
    assert keeping.amounts == amounts(authorized="409.50", charged="160.00")
    assert await problems_of(keeping) == [Issue(IssueCode.REST_NOT_KEPT), Issue(IssueCode.REST_NOT_RELEASED)]


@pytest.mark.law(10)
@pytest.mark.parametrize("look_up", [HangUp(), BROKEN], ids=["hung up", "500"])
async def test_a_rest_that_was_not_kept_is_found_once_the_order_can_be_looked_up(
    keeping: Shop, look_up: Behaviour
) -> None:
    keeping.gateway.will_answer(json_reply(done(keeping, "capture", "100.00")))
    await keeping.request_action("CHARGE", "100.00", "first")
    keeping.gateway.will_answer(refusal_reply("Invalid operation", "4150"))
    keeping.gateway.look_ups.extend([look_up])
    await keeping.request_action("CANCEL", REST, "second")
    assert await problems_of(keeping) == []
    await keeping.pass_time(hours=1)
    assert keeping.amounts == amounts(charged="100.00", canceled=REST)


async def test_a_refusal_that_others_explain_says_nothing_of_the_rest(keeping: Shop) -> None:
    """The rest was released in the portal, and the notification of that is lost."""
    keeping.gateway.will_answer(json_reply(done(keeping, "capture", "100.00")))
    await keeping.request_action("CHARGE", "100.00", "first")
    done(keeping, "void", REST)
    keeping.gateway.will_answer(refusal_reply("Invalid operation", "4150"))
    await keeping.request_action("CHARGE", "50.00", "second")
    await keeping.pass_time(minutes=1)
    assert keeping.amounts == amounts(charged="100.00", canceled=REST)
    assert await problems_of(keeping) == []


async def test_a_refusal_while_another_charge_is_under_way_says_nothing_of_the_rest(keeping: Shop) -> None:
    """In the portal, by a colleague: it fails at the bank, and then the rest can be charged as before."""
    keeping.gateway.will_answer(json_reply(done(keeping, "capture", "100.00")))
    await keeping.request_action("CHARGE", "100.00", "first")
    other = done(keeping, "capture", "60.00", status="pending")
    keeping.gateway.will_answer(refusal_reply("Invalid operation", "4150"))
    await keeping.request_action("CHARGE", "50.00", "second")
    other |= {"status": "failure", "status_code": "4009"}
    await keeping.pass_time(hours=6)
    assert keeping.amounts == amounts(authorized=REST, charged="100.00")
    assert await problems_of(keeping) == []


@pytest.mark.law(10)
@pytest.mark.parametrize("lacking", ["unreadable", "capture", "everything", "another method"])
async def test_an_order_that_is_not_shown_wholly_says_nothing_of_the_rest(keeping: Shop, lacking: str) -> None:
    """What is missing may be why the gateway refuses."""
    keeping.gateway.will_answer(json_reply(done(keeping, "capture", "100.00")))
    await keeping.request_action("CHARGE", "100.00", "first")
    create, capture = keeping.gateway.book[keeping.order_id]
    shown = {
        "unreadable": [create, capture, {**capture, "operation_id": "other", "amount": "much"}],
        "capture": [create],
        "everything": [],
        "another method": [create, capture, {**capture, "operation_id": "other", "method": "barter"}],
    }
    keeping.gateway.book[keeping.order_id] = shown[lacking]
    keeping.gateway.will_answer(refusal_reply("Invalid operation", "4150"))
    await keeping.request_action("CHARGE", "50.00", "second")
    await keeping.pass_time(minutes=1)
    assert IssueCode.REST_NOT_KEPT not in {issue.code for issue in await problems_of(keeping)}
    assert keeping.amounts == amounts(authorized=REST, charged="100.00")


@pytest.mark.law(7)
@pytest.mark.parametrize("lacking", ["unreadable", "everything"])
async def test_an_order_that_is_not_shown_wholly_puts_no_release_in_doubt(reserved_shop: Shop, lacking: str) -> None:
    shop = reserved_shop
    (create,) = shop.gateway.book[shop.order_id]
    unreadable = {**operation("void", shop.order_id, TOTAL), "amount": "much"}
    shop.gateway.book[shop.order_id] = [create, unreadable] if lacking == "unreadable" else []
    shop.gateway.will_answer(refusal_reply("Invalid operation", "4150"))
    await shop.request_action("CANCEL", TOTAL, "first")
    await shop.pass_time(minutes=1)
    assert not (await shop.operation(Kind.VOID)).contradicted


async def test_a_charge_that_is_refused_for_the_state_is_in_no_doubt(reserved_shop: Shop) -> None:
    shop = reserved_shop
    shop.gateway.will_answer(refusal_reply("Invalid operation", "4150"))
    await shop.request_action("CHARGE", "50.00", "first")
    await shop.pass_time(minutes=1)
    assert await problems_of(shop) == []
    assert not (await shop.operation(Kind.CAPTURE)).contradicted


async def test_what_the_portal_was_refused_says_nothing_of_the_rest(keeping: Shop) -> None:
    keeping.gateway.will_answer(json_reply(done(keeping, "capture", "100.00")))
    await keeping.request_action("CHARGE", "100.00", "first")
    await keeping.notify(done(keeping, "capture", "60.00", status="failure"))
    await keeping.pass_time(minutes=1)
    assert await look_up_now(keeping.services, keeping.order_id) is None
    await keeping.pass_time(minutes=1)
    assert keeping.amounts == amounts(authorized=REST, charged="100.00")
    assert await problems_of(keeping) == []


@pytest.mark.parametrize("code", ["4139", "P-429", "4009"])
async def test_another_refusal_says_nothing_of_the_rest(keeping: Shop, code: str) -> None:
    keeping.gateway.will_answer(json_reply(done(keeping, "capture", "100.00")))
    await keeping.request_action("CHARGE", "100.00", "first")
    keeping.gateway.will_answer(refusal_reply("Not so much", code))
    await keeping.request_action("CHARGE", "469.50", "second")
    await keeping.pass_time(minutes=1)
    assert keeping.amounts == amounts(authorized=REST, charged="100.00")
    assert await problems_of(keeping) == []


async def test_a_gateway_that_takes_several_charges_has_kept_the_rest(keeping: Shop) -> None:
    """Its refusal then has another reason, and what is held stays reported."""
    for charge in ("100.00", "50.00"):
        keeping.gateway.will_answer(json_reply(done(keeping, "capture", charge)))
        await keeping.request_action("CHARGE", charge, f"of {charge}")
    keeping.gateway.will_answer(refusal_reply("Invalid operation", "4150"))
    await keeping.request_action("CHARGE", "10.00", "third")
    await keeping.pass_time(hours=6)
    assert keeping.amounts == amounts(authorized="419.50", charged="150.00")
    assert await problems_of(keeping) == []


@pytest.mark.law(7)
@pytest.mark.parametrize(
    ("found", "told", "offered"),
    [
        (State.SUCCESS, amounts(canceled=TOTAL), []),
        (State.FAILURE, amounts(authorized=TOTAL), ["CHARGE", "CANCEL"]),
    ],
)
async def test_a_reservation_that_cannot_be_released_is_put_to_staff(
    reserved_shop: Shop, found: State, told: Amounts, offered: list[str]
) -> None:
    """It has lapsed at the bank, and the gateway has no record of that; or the gateway was not ready for it."""
    shop = reserved_shop
    shop.gateway.will_answer(refusal_reply("Invalid operation", "4150"))
    assert (await shop.request_action("CANCEL", TOTAL, "first")).result == "CANCEL_FAILURE"
    await shop.pass_time(minutes=1)
    assert [issue.code for issue in await problems_of(shop)] == [IssueCode.RELEASE_IN_DOUBT]
    assert shop.transaction.actions == []
    await settle(shop.services, shop.order_id, None, Decision(found, "olena", "seen in the portal"))
    await shop.pass_time(minutes=1)
    assert await problems_of(shop) == []
    assert (shop.amounts, sorted(shop.transaction.actions)) == (told, sorted(offered))
    assert await look_up_now(shop.services, shop.order_id) is None
    assert await problems_of(shop) == []
    assert not (await shop.operation(Kind.VOID)).contradicted


@pytest.mark.law(7)
async def test_a_release_that_is_refused_because_it_was_captured_in_the_portal_is_in_no_doubt(
    reserved_shop: Shop,
) -> None:
    shop = reserved_shop
    done(shop, "capture", TOTAL)
    shop.gateway.will_answer(refusal_reply("Invalid operation", "4150"))
    await shop.request_action("CANCEL", TOTAL, "first")
    await shop.pass_time(minutes=1)
    assert shop.amounts == amounts(charged=TOTAL)
    assert await problems_of(shop) == []
