"""What a story is told on: the client, an account, and somebody who does the payer's part.

The same stories are told three times over: to a cassette, to a sandbox in this process, and, while recording, to
whatever gateway the environment names. Order ids, the moment and the currency lie on the cassette beside the calls,
so that a story says the same again.
"""

import asyncio
import secrets
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any, Protocol
from uuid import UUID

import httpx2
from vcr.cassette import Cassette  # type: ignore[import-untyped]  # vcrpy has no types

from gateway_client.client import GatewayClient
from gateway_client.credentials import Credentials
from gateway_client.dialect import DIALECTS, DialectName
from gateway_client.sandbox.control import SandboxControl
from gateway_client.sandbox.scripting import FaultRule
from gateway_client.sandbox.server import running_sandbox
from gateway_client.sandbox.settings import DIALECTS as SPOKEN
from gateway_client.sandbox.settings import Behaviour, PointOfSale, SandboxSettings
from gateway_client_tests.contract.account import ON_CASSETTES, Account
from gateway_client_tests.contract.scrubbing import GATEWAY, WEBHOOKS
from gateway_client_tests.contract.tape import cassette
from gateway_client_tests.contract.webhooks import LiveWebhooks, RecordedWebhooks, Webhooks, open_listener
from integration_base_tests.clock import Clock

SANDBOX = "sandbox"


class PayerHands(Protocol):
    """Does what no call of the gateway's interface does."""

    async def pay(self, order_id: str, page: str | None, /) -> None:
        """Pay an order on its page."""

    async def pay_other(self, order_id: str, amount: Decimal, /) -> None:
        """Pay another amount than was asked for, as some payers may."""

    async def set_up(self, **options: Any) -> None:
        """Let the gateway choose one of the readings that the interface leaves open."""

    async def inject_fault(self, rule: FaultRule, /) -> None:
        """Let the next matching call go wrong."""


class NoHands:
    """On a cassette everything has been done."""

    async def pay(self, order_id: str, page: str | None) -> None:
        """It is paid already."""

    async def pay_other(self, order_id: str, amount: Decimal) -> None:
        """The same."""

    async def set_up(self, **options: Any) -> None:
        """It was so."""

    async def inject_fault(self, rule: FaultRule) -> None:
        """It went wrong."""


@dataclass
class SandboxHands:
    """A sandbox does what it is told."""

    control: SandboxControl
    pos_id: UUID

    async def pay(self, order_id: str, _page: str | None) -> None:
        """With a card that always succeeds."""
        await self.control.pay(order_id)

    async def pay_other(self, order_id: str, amount: Decimal) -> None:
        """By an alternative method of payment."""
        await self.control.pay(order_id, processed_amount=amount)

    async def set_up(self, **options: Any) -> None:
        """By its options."""
        await self.control.options(self.pos_id, **options)

    async def inject_fault(self, rule: FaultRule) -> None:
        """By its rules."""
        await self.control.fault(rule)


@asynccontextmanager
async def sandbox_hands(control: SandboxControl, pos_id: UUID) -> AsyncIterator[SandboxHands]:
    """Hands that leave a sandbox as they found it: it may be somebody's, with other work to do."""
    before = await control.options(pos_id)
    try:
        yield SandboxHands(control, pos_id)
    finally:
        await control.options(pos_id, **before.model_dump(mode="json"))


@dataclass
class PersonsHands:
    """A real gateway has a payer, and does nothing to please us."""

    ask: Callable[[str], str]

    async def pay(self, order_id: str, page: str | None) -> None:
        """The person at the terminal pays."""
        await asyncio.to_thread(self.ask, f"\nPay order {order_id} at {page} with a test card, then press Enter: ")

    async def pay_other(self, order_id: str, amount: Decimal) -> None:  # noqa: ARG002 - as the others have it
        """Such stories are told to sandboxes only."""
        raise AssertionError("which method lets a payer change the amount is not published")

    async def set_up(self, **_options: Any) -> None:
        """Such stories are told to sandboxes only."""
        raise AssertionError("a real gateway cannot be set up by a story")

    async def inject_fault(self, _rule: FaultRule) -> None:
        """The same."""
        raise AssertionError("a real gateway cannot be spoilt by a story")


@dataclass
class Harness:
    """Everything that a story needs. ``timeout`` is what it gives each call, in seconds."""

    http: httpx2.AsyncClient
    hands: PayerHands
    webhooks: Webhooks
    sleep: Callable[[float], Awaitable[None]]
    credentials: Credentials
    sub_merchants: tuple[str, ...]
    moment: datetime
    currency: str
    prefix: str
    preset: DialectName
    timeout: float = 20.0

    @property
    def client(self) -> GatewayClient:
        """The client of the account."""
        return self.client_of(self.credentials)

    def client_of(self, credentials: Credentials) -> GatewayClient:
        """A client with other keys."""
        return GatewayClient(self.http, credentials, dialect=DIALECTS[self.preset], sleep=self.sleep)

    def order_id(self, name: str) -> str:
        """An order id that was not used before this telling."""
        return f"{self.prefix}{name}"


async def _no_sleep(_seconds: float) -> None:
    await asyncio.sleep(0)


@asynccontextmanager
async def open_replayed(
    path: Path, context: ssl.SSLContext, preset: DialectName
) -> AsyncIterator[tuple[Harness, Cassette]]:
    """A harness on which everything comes from the cassette at ``path``."""
    account = Account(ON_CASSETTES)
    with cassette(path, addresses=None, scrubber=account.scrubber()) as tape:
        async with httpx2.AsyncClient(verify=context, trust_env=False) as http:
            webhooks = RecordedWebhooks(tape, tape.get_metadata("webhooks", None))
            yield Harness(http, NoHands(), webhooks, _no_sleep, preset=preset, **_account_values(account, tape)), tape


@asynccontextmanager
async def open_recorded_from_sandbox(
    path: Path, context: ssl.SSLContext, seed: str, *, preset: DialectName, listen: bool
) -> AsyncIterator[Harness]:
    """A harness with a sandbox of its own, which does the same every time; everything goes onto ``path``."""
    pos = PointOfSale(behaviour=Behaviour.model_validate(SPOKEN[preset]))
    settings = SandboxSettings(port=0, public_url=GATEWAY, seed=seed, clock=Clock(), tick=3600.0, points_of_sale=(pos,))
    async with running_sandbox(settings) as (url, _app):
        account = Account(
            Credentials(
                pos_id=str(pos.pos_id),
                api_key=pos.api_key,
                api_secret=pos.api_secret.get_secret_value(),
                endpoints_key=pos.endpoints_key.get_secret_value(),
                base_url=url,
            )
        )
        # Not the real moment and no random order ids: recording again must give the same bytes.
        fixed: dict[str, Any] = {"moment": Clock()(), "prefix": "story-", "source": SANDBOX, "preset": preset}
        async with open_recorded(path, context, account, listen=listen, **fixed) as harness:
            yield harness


@asynccontextmanager
async def open_recorded(
    path: Path,
    context: ssl.SSLContext,
    account: Account,
    *,
    listen: bool,
    preset: DialectName,
    ask: Callable[[str], str] = input,
    moment: datetime | None = None,
    prefix: str | None = None,
    source: str = "an account",
) -> AsyncIterator[Harness]:
    """A harness at the gateway of ``account``; everything goes onto ``path``. ``listen``: webhooks are heard."""
    here, moment = account.on_this_machine, moment or datetime.now(UTC).replace(microsecond=0)
    async with AsyncExitStack() as stack:
        ear = await stack.enter_async_context(open_listener(account.webhook_port)) if listen else None
        # A sandbox takes an address that does not exist, and keeps what it cannot deliver.
        shop = account.webhook_url or (ear.url if ear is not None else WEBHOOKS if here else None)
        scrubber = account.scrubber(shop)
        tape = stack.enter_context(cassette(path, addresses=account.addresses, scrubber=scrubber))
        tape.get_metadata("source", source)
        tape.get_metadata("moment", moment.isoformat())
        # An order id is burnt by its first use, so no two recordings may use the same.
        tape.get_metadata("prefix", prefix if prefix is not None else f"{secrets.token_hex(5)}-")
        tape.get_metadata("currency", account.currency)
        tape.get_metadata("webhooks", WEBHOOKS if shop is not None else None)
        http = await stack.enter_async_context(httpx2.AsyncClient(verify=context, trust_env=False))
        hands: PayerHands = PersonsHands(ask)
        if here:
            control = await stack.enter_async_context(SandboxControl(account.credentials.base_url))
            hands = await stack.enter_async_context(sandbox_hands(control, UUID(account.credentials.pos_id)))
        webhooks = LiveWebhooks(ear, shop, tape, account.credentials.webhook_secrets, scrubber)
        sleep = _no_sleep if here else asyncio.sleep
        yield Harness(http, hands, webhooks, sleep, preset=preset, **_account_values(account, tape))


def _account_values(account: Account, tape: Cassette) -> dict[str, Any]:
    """What of a harness comes from the account, and what lies on the cassette."""
    return {
        "credentials": account.credentials,
        "sub_merchants": account.sub_merchants,
        "moment": datetime.fromisoformat(tape.get_metadata("moment", None)),
        "currency": tape.get_metadata("currency", None),
        "prefix": tape.get_metadata("prefix", None),
    }
