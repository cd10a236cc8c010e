"""``payouts list``, ``show`` and ``send``."""

import json
from collections.abc import AsyncIterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from app.services import Services
from app.store.tables import MerchantAccount
from integration_base_tests.loopback import Behaviour, HangUp, ReceivedRequest, json_reply
from tests.commands.conftest import Shell, add_account, one_database
from tests.payments.fake_gateway import POS_ID, FakeGateway, open_fake_gateway, payment
from tests.saved_cards import card_to_save, save_card

CUSTOMER = "VXNlcjo3"
TOKEN = "tok_of_the_card"


class PayingGateway(FakeGateway):
    """Pays out whatever is asked, unless a test has said otherwise."""

    def answer(self, request: ReceivedRequest) -> Behaviour:
        if request.method == "GET" or self.script:
            return super().answer(request)
        return json_reply(
            payment(request.json["order_id"], mode="direct", method="credit", amount=request.json["amount"])
        )


@pytest.fixture
async def gateway() -> AsyncIterator[FakeGateway]:
    async with open_fake_gateway(PayingGateway()) as gateway:
        yield gateway


@pytest.fixture
async def account(services: Services, installed: int, gateway: FakeGateway) -> MerchantAccount:
    """An account that pays out, and a customer who keeps a card with it."""
    options = {"payouts": True, "payout_most": Decimal("1000.00"), "payout_most_a_day": Decimal("1500.00")}
    account = await add_account(services, installed, base_url=gateway.url, pos_id=POS_ID, options=options)
    await a_card(services, account, "4242")
    return account


async def a_card(services: Services, account: MerchantAccount, digits: str) -> None:
    mask, now = f"424242******{digits}", services.now()
    card = card_to_save(services.saved_cards, account, CUSTOMER, token=TOKEN, mask=mask, now=now)
    await save_card(services.database, card)


@pytest.fixture
def recipient(tmp_path: Path) -> str:
    file = tmp_path / "recipient.json"
    file.write_text(json.dumps({"recipient_first_name": "Solomiia", "recipient_last_name": "Pavlychko"}))
    return str(file)


def _write(file: str, content: bytes) -> None:
    Path(file).write_bytes(content)


def words(recipient: str, *more: str, amount: str = "100") -> tuple[str, ...]:
    said = ("payouts", "send", "Shop", "--amount", amount, "--description", "A prize", "--customer", CUSTOMER)
    return (*said, "--recipient", recipient, *more)


async def test_a_saved_card_is_paid_once_it_is_confirmed(
    shell: Shell, account: MerchantAccount, gateway: FakeGateway, recipient: str
) -> None:
    told = await shell(*words(recipient, "--yes"))
    assert told.status == 0, told.err
    assert told.out.startswith("Paid out: 100.00 UAH (")
    assert gateway.requests[-1].json["cc_token"] == TOKEN
    assert "is not known at the moment" in told.err
    [row] = (await shell("payouts", "list", "--json")).json
    assert (row["amount"], row["standing"], row["card"], row["recipient"]) == (
        Decimal(100), "paid out", "424242******4242", "Solomiia Pavlychko",
    )  # fmt: skip
    assert row["asked_by"] == row["confirmed_by"]
    assert "424242******4242" in (await shell("payouts", "list")).out
    assert "A prize" in (await shell("payouts", "list", "--csv")).out
    shown = await shell("payouts", "show", row["order_id"])
    assert "Solomiia Pavlychko" in shown.out
    assert (await shell("payouts", "show", row["order_id"], "--json")).json == row
    nothing = await shell("payouts", "show", "nothing")
    nothing.failed("there is no payout 'nothing'")
    nothing.failed("`saleor-gateway payouts list` shows the newest")
    assert TOKEN not in "".join(command_result.out + command_result.err for command_result in shell.everything)


@one_database
async def test_file_about_the_recipient_may_begin_with_a_mark_of_its_encoding(
    shell: Shell, account: MerchantAccount, gateway: FakeGateway, recipient: str
) -> None:
    """As Windows' editors write it. Its encoding is never that of the terminal."""
    who = {"recipient_first_name": "Соломія", "recipient_last_name": "Павличко"}
    _write(recipient, json.dumps(who, ensure_ascii=False).encode("utf-8-sig"))
    assert (await shell(*words(recipient, "--yes", "--json"))).status == 0
    [sent] = [request.json for request in gateway.requests if request.method == "POST"]
    assert sent["properties"]["recipient_first_name"] == "Соломія"
    _write(recipient, "Соломія".encode("cp1251"))
    (await shell(*words(recipient, "--yes"))).failed("the recipient cannot be read", status=2)


async def test_everything_about_the_recipient_is_in_the_file(
    shell: Shell, account: MerchantAccount, gateway: FakeGateway, tmp_path: Path
) -> None:
    who = {"recipient_first_name": "Solomiia", "recipient_last_name": "Pavlychko", "recipient_tax_id": "3123456789"}
    file = tmp_path / "recipient.json"
    file.write_text(json.dumps(who | {"recipient_email": "s@example.com", "reference": "Invoice 17"}))
    told = await shell(*words(str(file), "--yes"))
    assert told.status == 0, told.err
    sent = gateway.requests[-1].json
    assert (sent["customer_email"], sent["customer_tax_id"], sent["payload"]) == (
        "s@example.com", "3123456789", "Invoice 17",
    )  # fmt: skip


async def test_nobody_is_paid_unless_somebody_confirms(
    shell: Shell, account: MerchantAccount, gateway: FakeGateway, recipient: str
) -> None:
    told = await shell(*words(recipient))
    assert told.status == 2
    assert "this is not an interactive terminal: confirm with --yes" in told.err
    assert not gateway.calls
    assert (await shell("payouts", "list")).out == "There are no payouts yet.\n"


async def test_a_request_that_is_named_is_done_once_whatever_came_of_it(
    shell: Shell, account: MerchantAccount, gateway: FakeGateway, recipient: str
) -> None:
    gateway.will_answer(HangUp())
    command = words(recipient, "--yes", "--request", "ticket-7781")
    first = await shell(*command)
    assert "The outcome is not known yet" in first.out
    assert "The outcome is not known yet" in (await shell(*command)).out
    assert gateway.calls == ["payment"]


@pytest.mark.law(4)
async def test_a_name_used_for_another_payout_is_refused(
    shell: Shell, services: Services, account: MerchantAccount, gateway: FakeGateway, recipient: str
) -> None:
    named = ("--yes", "--request", "ticket-7781")
    assert (await shell(*words(recipient, *named))).status == 0
    await a_card(services, account, "5555")
    other_name = Path(recipient).with_name("other.json")
    other_name.write_text(json.dumps({"recipient_first_name": "Taras", "recipient_last_name": "Pavlychko"}))
    options = {"payouts": True, "payout_most": Decimal("1000.00"), "payout_most_a_day": Decimal("1500.00")}
    await add_account(services, account.installation_id, base_url=gateway.url, name="Second", options=options)
    for what, different in (
        ("amount", words(recipient, *named, amount="250")),
        ("card", words(recipient, *named, "--card", "5555")),
        ("card", words(recipient, *named, "--customer", "VXNlcjo4")),
        ("recipient", words(str(other_name), *named)),
        ("account", tuple("Second" if word == "Shop" else word for word in words(recipient, *named))),
    ):
        (await shell(*different)).failed(f"was already used for a payout with another {what}: see", 2)
    (await shell(*words(recipient, *named, amount="much"))).failed("'much' is not an amount", 2)
    assert (await shell(*words(recipient, *named, "--card", "4242", amount="100.00"))).status == 0
    assert gateway.calls == ["payment"]


@one_database
async def test_what_is_wrong_is_told_at_once_and_nothing_is_asked(
    shell: Shell, services: Services, account: MerchantAccount, gateway: FakeGateway, recipient: str
) -> None:
    folder = Path(recipient).parent
    told = await shell(*words(recipient, "--yes", amount="1000.01"))
    told.failed("amount: This account pays out at most 1000.00 UAH at a time.", status=2)
    nobody: dict[str, Any] = {"recipient_first_name": "Solomiia"}
    (folder / "nobody.json").write_text(json.dumps(nobody))
    (await shell(*words(str(folder / "nobody.json"), "--yes"))).failed("recipient_last_name: This field is required", 2)
    (folder / "odd.json").write_text(json.dumps(nobody | {"iban": "UA1"}))
    (await shell(*words(str(folder / "odd.json"), "--yes"))).failed(
        "the gateway has no such field for a recipient: iban", 2
    )
    (await shell(*words(str(folder / "none.json"), "--yes"))).failed("cannot be read", 2)
    (await shell(*words(recipient, "--yes", "--card", "1111"))).failed("has no such saved card", 2)
    await a_card(services, account, "5555")
    (await shell(*words(recipient, "--yes"))).failed("choose one with --card", 2)
    await services.accounts.change(account.id, payouts=False)
    (await shell(*words(recipient, "--yes", "--card", "5555"))).failed("does not make payouts", 2)
    assert not gateway.calls


@one_database
async def test_the_options_are_set_in_a_terminal_and_checked(
    shell: Shell, services: Services, account: MerchantAccount, gateway: FakeGateway
) -> None:
    changed = await shell(
        "accounts", "set", "Shop", "--payout-most", "250,5", "--payout-most-a-day", "", "--payout-staff",
        "Olena@Example.com", "--json",
    )  # fmt: skip
    assert changed.status == 0, changed.err
    [shown] = [listed for listed in (await shell("accounts", "list", "--json")).json if listed["id"] == account.id]
    assert (shown["payouts"], shown["payout_most"], shown["payout_most_a_day"], shown["payout_staff"]) == (
        True, Decimal("250.5"), None, ["olena@example.com"],
    )  # fmt: skip
    found = await shell("accounts", "check", "Shop")
    assert "payouts are switched on without both limits" in found.out + found.err
    sheet = " ".join((await shell("accounts", "show", "Shop")).out.split())
    assert "at most 250.50 UAH at once and nothing in 24 hours, by olena@example.com" in sheet
    (await shell("accounts", "set", "Shop", "--payout-most", "much")).failed("--payout-most is invalid", status=2)
    assert (await shell("accounts", "set", "Shop", "--currency", "KWD", "--currency", "UAH")).status == 0
    changed = await shell("accounts", "set", "Shop", "--payout-most", "10.250", "--json")
    assert changed.json["payout_most"] == Decimal("10.25")
    changed = await shell("accounts", "set", "Shop", "--currency", "JPY", "--payout-most", "50,000", "--json")
    assert changed.json["payout_most"] == Decimal(50000)
