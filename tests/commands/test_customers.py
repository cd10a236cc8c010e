"""``customers forget`` and ``customers export``."""

from collections.abc import Sequence
from typing import Any

import pytest

from app.core.vocabulary import State
from app.services import Services
from app.store.tables import MerchantAccount, SavedCard
from tests.commands.books import operation, store_payment
from tests.commands.conftest import Shell, add_account, install
from tests.saved_cards import card_to_save, save_card

OLENA, TARAS = "VXNlcjox", "VXNlcjoy"
TOKEN = "tok_of_the_card"


@pytest.fixture
async def account(services: Services, installed: int) -> MerchantAccount:
    """An account with which two customers keep cards."""
    account = await add_account(services, installed, options={"saved_cards": True})
    for owner, digits in ((OLENA, "4242"), (OLENA, "1111"), (TARAS, "4242")):
        await a_card(services, account, owner, digits)
    return account


async def a_card(services: Services, account: MerchantAccount, owner: str, digits: str) -> None:
    mask, now = f"424242******{digits}", services.now()
    card = card_to_save(services.saved_cards, account, owner, token=TOKEN, mask=mask, now=now)
    await save_card(services.database, card)


async def cards(services: Services, account: MerchantAccount, owner: str) -> Sequence[SavedCard]:
    return await services.saved_cards.cards_of_customer(account.installation_id, owner)


async def test_one_customers_cards_go_and_nobody_elses(
    shell: Shell, services: Services, account: MerchantAccount
) -> None:
    done = await shell("customers", "forget", OLENA, "--yes", "--json")
    assert done.status == 0
    assert done.json["forgotten"] == [{"customer": OLENA, "cards": 2, "consents": 0}]
    assert "amounts" in done.json["remains"]
    assert [await cards(services, account, OLENA), len(await cards(services, account, TARAS))] == [[], 1]
    again = await shell("customers", "forget", OLENA, "--yes")
    assert (again.status, "cards deleted: 0" in again.out) == (0, True)


async def test_nothing_is_deleted_without_a_yes(shell: Shell, services: Services, account: MerchantAccount) -> None:
    (await shell("customers", "forget", OLENA)).failed("confirm with --yes", status=2)
    assert len(await cards(services, account, OLENA)) == 2


@pytest.mark.parametrize(
    ("words", "why"),
    [
        ((), "name the customer"),
        ((OLENA, "--by-email"), "name the customer"),
        (("olena@example.com",), "history"),
        (("olena＠example.com",), "history"),
        (("42",), "is not the ID of a customer"),
        (("T3JkZXI6MQ==",), "is not the ID of a customer"),
        (("VXNlcjo=",), "is not the ID of a customer"),
    ],
)
@pytest.mark.parametrize("command", ["forget", "export"])
async def test_who_cannot_be_meant_is_said_at_once(
    shell: Shell, account: MerchantAccount, command: str, words: tuple[str, ...], why: str
) -> None:
    (await shell("customers", command, *words)).failed(why, status=2)


async def test_the_store_must_be_named_where_there_are_several(
    shell: Shell, services: Services, account: MerchantAccount
) -> None:
    other = "https://other.example.com/graphql/"
    await install(services, other)
    (await shell("customers", "forget", OLENA, "--yes")).failed("--saleor")
    done = await shell("customers", "forget", OLENA, "--yes", "--json", "--saleor", other)
    assert done.json["forgotten"] == [{"customer": OLENA, "cards": 0, "consents": 0}]
    assert len(await cards(services, account, OLENA)) == 2


async def test_what_is_kept_is_written_down_without_a_token(shell: Shell, account: MerchantAccount) -> None:
    done = await shell("customers", "export", OLENA)
    assert (done.json["customers"], done.json["payments"]) == ([OLENA], None)
    assert [card["card"] for card in done.json["cards"]] == ["424242******4242", "424242******1111"]
    assert TOKEN not in done.out
    assert "token" not in done.out


async def test_whom_nobody_knows_by_an_address(shell: Shell, account: MerchantAccount) -> None:
    nobody = await shell("customers", "forget", "--by-email", "--yes", typed="nobody@example.com\n")
    nobody.failed("no signed-in customer has paid here with this address")
    written = await shell("customers", "export", "--by-email", typed="nobody@example.com\n")
    assert written.json == {"customers": [], "cards": [], "payments": []}
    (await shell("customers", "export", "--by-email", typed="nobody\n")).failed("not an e-mail address", status=2)


async def test_a_customer_is_found_by_the_address_that_they_have_paid_with(
    shell: Shell, services: Services, account: MerchantAccount
) -> None:
    """What is written down of the payment names what is kept encrypted, and says nothing of it."""
    asked = {"customer_id": OLENA, "customer_email": "olena@example.com", "description": "Order 7"}
    told, sealed = services.personal.seal_request("transaction-7", asked)
    create = operation(request=told, personal_sealed=sealed, details={"card_mask": "424242******4242"})
    digest = services.emails.digest_to_store(account.installation_id, "olena@example.com")
    paid = await store_payment(services, account, [create], transaction_id="transaction-7", email_digest=digest)
    guest = services.personal.seal_request("transaction-8", asked | {"customer_id": None})
    unread = operation(request=guest[0], personal_sealed=guest[1])
    await store_payment(services, account, [unread], transaction_id="transaction-8", order_id="8", email_digest=digest)

    typed = "Olena@example.com\n"
    written = (await shell("customers", "export", "--by-email", typed=typed)).json
    assert written["customers"] == [OLENA]
    assert {card["customer"] for card in written["cards"]} == {OLENA}
    by_order = {payment["order_id"]: payment for payment in written["payments"]}
    assert set(by_order) == {paid.order_id, "8"}
    said = by_order[paid.order_id]
    assert (str(said["amount"]), said["card"], said["state"]) == ("100.00", "424242******4242", "success")
    assert said["encrypted"] == ["customer_email", "customer_id"]
    assert "olena" not in str(written["payments"])

    done = await shell("customers", "forget", "--by-email", "--yes", typed=typed)
    assert (done.status, f"{OLENA}: cards deleted: 2" in done.out) == (0, True)
    assert [await cards(services, account, OLENA), len(await cards(services, account, TARAS))] == [[], 1]


async def test_with_the_address_goes_what_finished_payments_say_of_the_shopper(
    shell: Shell, services: Services, account: MerchantAccount
) -> None:
    digest = services.emails.digest_to_store(account.installation_id, "guest@example.com")
    for number, state in enumerate((State.SUCCESS, State.FAILURE, State.PENDING)):
        name = f"transaction-{number}"
        told, sealed = services.personal.seal_request(name, {"customer_email": "guest@example.com"})
        asked = operation(state=state, request=told, personal_sealed=sealed)
        await store_payment(services, account, [asked], transaction_id=name, order_id=f"{number}", email_digest=digest)
    typed = "guest@example.com\n"
    done = await shell("customers", "forget", "--by-email", "--yes", "--json", typed=typed)
    assert (done.json["forgotten"], done.json["payments"]) == ([], {"erased": 2, "not_finished": 1})
    left = (await shell("customers", "export", "--by-email", typed=typed)).json["payments"]
    assert [payment["order_id"] for payment in left] == ["2"]
    shown = await shell("payments", "show", "0")
    assert "erases the shopper's data" in " ".join(shown.out.split())
    again = await shell("customers", "forget", "--by-email", "--yes", typed=typed)
    assert "unfinished payments, not changed: 1" in again.out


async def test_a_running_subscription_is_no_finished_payment(
    shell: Shell, services: Services, account: MerchantAccount
) -> None:
    """Else nobody would find it by the address any more, and the card of somebody who is forgotten is charged on."""
    digest = services.emails.digest_to_store(account.installation_id, "guest@example.com")
    for number, status in enumerate(("active", "canceled")):
        name = f"transaction-{number}"
        told, sealed = services.personal.seal_request(name, {"customer_email": "guest@example.com"})
        facts: dict[str, Any] = {"transaction_id": name, "order_id": f"{number}", "email_digest": digest}
        facts |= {"recurring_id": f"rec-{number}", "recurring_status": status}
        paid = operation(state=State.SUCCESS, request=told, personal_sealed=sealed)
        await store_payment(services, account, [paid], **facts)
    typed = "guest@example.com\n"
    done = await shell("customers", "forget", "--by-email", "--yes", typed=typed)
    said = " ".join(done.out.split())
    assert "payments whose customer data was erased: 1" in said
    assert "unfinished payments, not changed: 1" in said
    assert (
        "0: its subscription is still charged: cancel it with `saleor-gateway payments cancel-subscription 0`" in said
    )
    again = await shell("customers", "forget", "--by-email", "--yes", "--json", typed=typed)
    assert (again.json["payments"], again.json["subscriptions"]) == ({"erased": 0, "not_finished": 1}, ["0"])
