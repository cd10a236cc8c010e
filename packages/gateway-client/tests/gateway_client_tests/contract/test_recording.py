"""What happens while cassettes are recorded: what is taken out, who is asked, and that it can be done elsewhere."""

import asyncio
import os
import sys
from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given

from gateway_client.credentials import Credentials
from gateway_client.notification import encode, read_notification
from gateway_client.sandbox.server import running_sandbox
from gateway_client.sandbox.settings import DIALECTS, Behaviour, PointOfSale, SandboxSettings
from gateway_client_tests.contract.account import ON_CASSETTES, SUB_MERCHANTS, Account, may_be_run
from gateway_client_tests.contract.harness import PersonsHands
from gateway_client_tests.contract.scrubbing import GATEWAY, HIDDEN, MASK, WEBHOOKS
from gateway_client_tests.counterpart import PAYMENT
from gateway_client_tests.strategies import records
from integration_base import exact_json
from integration_base_tests.places import REPOSITORY

STORIES = str(Path(__file__).parent)
KEYS = {
    "GATEWAY_POS_ID": "0a2f0d4c-3f0e-4c39-9d2c-6f6d6f0a7b11",
    "GATEWAY_API_KEY": "its-own-key",
    "GATEWAY_API_SECRET": "its-own-secret",
    "GATEWAY_ENDPOINTS_KEY": "its-own-endpoints-key",
}
ELSEWHERE = KEYS | {"GATEWAY_BASE_URL": "https://pay.test", "GATEWAY_BALANCES_URL": "https://balances.pay.test"}


def account(**more: str) -> Account:
    found = Account.of_environment(ELSEWHERE | more)
    assert found is not None
    return found


def scrubbed(document: Any) -> Any:
    return exact_json.loads(account().scrubber("https://shop.test/hook").body(exact_json.dumps(document).encode()))


def test_cards_tokens_and_people_are_taken_out_wherever_they_stand() -> None:
    taken = scrubbed(
        {
            "cc_number": "4242424242424242",
            "exp_month": 12,
            "card_cvv": "123",
            "cc_mask": "516874******1234",
            "customer_email": "olena@shop.test",
            "customer_phone": None,
            "properties": {"recipient_last_name": "Kovalenko", "wallet_number": "77"},
            "browser_fingerprint": {"browserIpAddress": "192.0.2.7"},
            "records": [{"cc_token": "tok", "amount": Decimal("1.50"), "user_action_url": "https://bank.test/3ds"}],
            "balances": {"available": Decimal("98765.43")},
            "message": "Card 4242 4242 4242 4242 refused",
        }
    )
    assert taken == {
        "cc_number": HIDDEN,
        "exp_month": HIDDEN,
        "card_cvv": HIDDEN,
        "cc_mask": MASK,
        "customer_email": HIDDEN,
        "customer_phone": None,
        "properties": {"recipient_last_name": HIDDEN, "wallet_number": HIDDEN},
        "browser_fingerprint": {"browserIpAddress": HIDDEN},
        "records": [{"cc_token": HIDDEN, "amount": Decimal("1.50"), "user_action_url": f"{GATEWAY}/action"}],
        "balances": {"available": Decimal("1000.00")},
        "message": "Card (number) refused",
    }


def test_the_accounts_own_words_are_replaced() -> None:
    taken = scrubbed(
        {
            "pos_id": KEYS["GATEWAY_POS_ID"].upper(),
            "server_url": "https://shop.test/hook",
            "links": ["https://pay.test/form", "https://balances.pay.test/x", "its-own-secret"],
        }
    )
    assert taken == {
        "pos_id": ON_CASSETTES.pos_id,
        "server_url": WEBHOOKS,
        "links": [f"{GATEWAY}/form", f"{GATEWAY}/x", HIDDEN],
    }


def test_of_lists_that_hold_other_peoples_payments_little_is_kept() -> None:
    line = b'{"orderId":"1","description":"for Olena","payload":"x","amount":"1.50"}\n'
    assert account().scrubber().body(line * 2).decode() == 2 * (
        '{"orderId":"1","description":"(filtered)","payload":"(filtered)","amount":"1.50"}\n'
    )


def test_what_is_not_json_is_not_kept_at_all() -> None:
    assert account().scrubber().body(b"<html>olena@shop.test</html>") == HIDDEN.encode()


@given(records)
def test_scrubbing_twice_is_scrubbing_once_and_leaves_the_money_alone(members: dict[str, Any]) -> None:
    scrubber = account().scrubber()
    once = scrubber.body(exact_json.dumps(members).encode())
    assert scrubber.body(once) == once
    assert str(exact_json.loads(once)["amount"]) == str(members["amount"])


def test_no_cookies_and_no_keys_among_the_headers() -> None:
    scrubber = account().scrubber()
    sent = {"x-api-auth": "CPAY a:b", "x-api-key": "c", "Cookie": "d", "Accept": "application/json", "User-Agent": "e"}
    assert scrubber.request_headers(sent) == {"Accept": "application/json", "X-API-AUTH": HIDDEN, "X-API-KEY": HIDDEN}
    answered = {"Set-Cookie": ["a"], "Location": ["https://pay.test/form"], "Date": ["today"]}
    assert scrubber.answer_headers(answered) == {"location": [f"{GATEWAY}/form"]}


@pytest.mark.parametrize("padding", ["=", ""])
def test_a_webhook_is_signed_again(padding: str) -> None:
    data = next(text for text in (encode({**PAYMENT, "payload": "x" * size}) for size in range(4)) if text[-1] == "=")
    data = data if padding else data.rstrip("=")
    form = account().scrubber().webhook(data, ON_CASSETTES.api_secret)
    told = read_notification(form, ON_CASSETTES.webhook_secrets)
    assert told.record.amount == Decimal(str(PAYMENT["amount"]))
    if not padding:
        assert not told.data.endswith("=")


def test_without_an_address_there_is_no_account() -> None:
    assert Account.of_environment(KEYS) is None
    with pytest.raises(KeyError, match="GATEWAY_API_SECRET"):
        Account.of_environment({name: value for name, value in ELSEWHERE.items() if name != "GATEWAY_API_SECRET"})
    assert account().sub_merchants == ()
    assert account(GATEWAY_SUB_MERCHANTS=", ".join(SUB_MERCHANTS)).sub_merchants == SUB_MERCHANTS


class AtTheTerminal:
    """Somebody who answers, or nobody."""

    def __init__(self, answer: str | None) -> None:
        self.answer = answer
        self.questions: list[str] = []

    def __call__(self, question: str) -> str:
        self.questions.append(question)
        if self.answer is None:
            raise OSError("nobody is at the terminal")
        return self.answer


@pytest.mark.parametrize(
    ("base_url", "balances_url", "asked"),
    [
        ("http://127.0.0.1:8077", "", False),
        ("http://localhost:8077", "", False),
        ("http://[::1]:8077", "", False),
        ("https://pay.test", "", True),
        ("http://127.0.0.1:8077", "https://pay.test", True),
        ("http://10.0.0.1", "", True),
    ],
)
def test_money_moves_elsewhere_only_if_somebody_says_so(base_url: str, balances_url: str, *, asked: bool) -> None:
    there = account(GATEWAY_BASE_URL=base_url, GATEWAY_BALANCES_URL=balances_url)
    for answer, told in (("yes", True), (" YES\n", True), ("y", False), ("", False), ("no", False), (None, False)):
        person = AtTheTerminal(answer)
        assert may_be_run(there, "a story", reads_only=True, ask=person)
        assert not person.questions
        assert may_be_run(there, "a story", reads_only=False, ask=person) is (told or not asked)
        assert bool(person.questions) is asked
        assert all("a story" in question and "its-own" not in question for question in person.questions)


async def tell_stories(*arguments: str, environment: Mapping[str, str]) -> None:
    """Run some stories in a process of their own."""
    chosen = "a_purchase_on_the_page or in_json or signed_webhooks"
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-k", chosen, *arguments),
        cwd=REPOSITORY,
        env=dict(os.environ) | dict(environment),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    said, _ = await process.communicate()
    assert process.returncode == 0, said.decode()
    assert "skipped" not in said.decode()


@pytest.mark.long
async def test_stories_are_recorded_from_any_sandbox_that_is_named_and_told_again(tmp_path: Path) -> None:
    folder = {"GATEWAY_CASSETTES": str(tmp_path)}
    for preset, options in DIALECTS.items():
        behaviour = Behaviour.model_validate(options)
        pos = PointOfSale(api_key="another-key", behaviour=behaviour)
        async with running_sandbox(SandboxSettings(port=0, points_of_sale=(pos,))) as (url, app):
            keys = {
                "GATEWAY_BASE_URL": url,
                "GATEWAY_POS_ID": str(pos.pos_id),
                "GATEWAY_API_KEY": pos.api_key,
                "GATEWAY_API_SECRET": pos.api_secret.get_secret_value(),
                "GATEWAY_ENDPOINTS_KEY": pos.endpoints_key.get_secret_value(),
                "GATEWAY_DIALECT": preset,
            }
            await tell_stories("--record-mode=rewrite", STORIES, environment=folder | keys)
            assert app.state.sandbox.state.behaviour(pos.pos_id) == behaviour
    for place in (
        "public/hosted/a_purchase_on_the_page.yaml",
        "public/hosted/the_page_told_in_json.yaml",
        "interface/webhooks/signed_webhooks_tell_of_a_payment_and_of_a_refund.yaml",
    ):
        text = (tmp_path / place).read_text()
        assert "source: an account" in text
        assert url not in text
        assert pos.api_secret.get_secret_value() not in text
    await tell_stories(STORIES, environment=folder)


async def test_at_a_real_gateway_a_person_pays() -> None:
    person = AtTheTerminal("")
    await PersonsHands(person).pay("order1", "https://pay.test/form")
    assert "order1 at https://pay.test/form" in person.questions[0]


def test_keys_of_an_account_show_nowhere() -> None:
    assert "its-own-secret" not in repr(account())
    assert isinstance(account().credentials, Credentials)
