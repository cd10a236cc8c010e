"""A store whose merchant account is at a sandbox of its own, over real HTTP."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from uuid import UUID, uuid4

import pytest
from pydantic import SecretStr

from app.store.tables import MerchantAccount
from gateway_client.sandbox.control.client import SandboxControl
from gateway_client.sandbox.core.records import Payment
from gateway_client.sandbox.sandbox import Sandbox
from gateway_client.sandbox.scripting import FaultRule
from gateway_client.sandbox.server import running_sandbox
from gateway_client.sandbox.settings import Behaviour, PointOfSale, SandboxSettings
from tests.commands.conftest import KEYS, POS_ID
from tests.dashboard.dashboard_app import StaffClient

REFUSED_KEYS = '{"message": "Invalid pos_id field or credentials", "args": {"code": "S-403"}}'


@dataclass
class SandboxGateway:
    """The sandbox: where it is, what it keeps, and what makes it behave otherwise."""

    url: str
    sandbox: Sandbox
    control: SandboxControl

    async def fault(self, path: str, status: int = 401, body: str | None = REFUSED_KEYS, times: int = 1) -> None:
        """Let the next calls of a path be answered so."""
        await self.control.fault(FaultRule(path=path, effect="status", status=status, body=body, times=times))

    def has(self, available: str, reserve: str = "0", currency: str = "UAH") -> None:
        """Let the store have so much there."""
        account = self.sandbox.state.account(UUID(POS_ID), currency)
        account.available, account.reserve = Decimal(available), Decimal(reserve)

    async def asked(self, part: str) -> int:
        """Return how many calls there were whose path has this in it."""
        return sum(part in call.path for call in await self.control.calls())

    def add_payment(
        self, order_id: str, at: datetime | None = None, amount: str = "569.50", **different: object
    ) -> Payment:
        """Let the gateway have a payment that has succeeded."""
        at = at or datetime.now(UTC)
        payment = Payment(
            payment_id=uuid4(),
            order_id=order_id,
            pos_id=UUID(POS_ID),
            transaction_id=uuid4(),
            amount=Decimal(amount),
            currency="UAH",
            created_at=at,
            processed_at=at,
            mode="hosted",
            method="purchase",
            checkout_id=uuid4(),
            expires_at=at,
        ).model_copy(update=different)
        payment.set_status("1000", at)
        self.sandbox.state.add_payment(payment)
        return payment


@pytest.fixture
async def at_hand() -> AsyncIterator[SandboxGateway]:
    point = PointOfSale(
        pos_id=UUID(POS_ID),
        api_key=KEYS["GATEWAY_API_KEY"],
        api_secret=SecretStr(KEYS["GATEWAY_API_SECRET"]),
        endpoints_key=SecretStr(KEYS["GATEWAY_ENDPOINTS_KEY"]),
        behaviour=Behaviour(amount_endings=False),
    )
    async with (
        running_sandbox(SandboxSettings(port=0, points_of_sale=(point,))) as (url, app),
        SandboxControl(url) as control,
    ):
        yield SandboxGateway(url, app.state.sandbox, control)


@pytest.fixture
async def account(staff_client: StaffClient, at_hand: SandboxGateway) -> MerchantAccount:
    """The store's account, at the sandbox."""
    accounts = staff_client.services.accounts
    changed = await accounts.change_keys(
        staff_client.shop.account.id,
        api_key=KEYS["GATEWAY_API_KEY"],
        api_secret=KEYS["GATEWAY_API_SECRET"],
        endpoints_key=KEYS["GATEWAY_ENDPOINTS_KEY"],
        columns={"previous_api_secret_sealed": None, "base_url": at_hand.url, "pos_id": POS_ID},
    )
    staff_client.shop.account = changed
    return changed
