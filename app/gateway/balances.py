"""The merchant's accounts at the gateway (gateway interface, 11)."""

from app.gateway import answers
from app.gateway.credentials import Credentials
from app.gateway.errors import OutcomeUnknownError
from app.gateway.models.accounts import BalanceAccount
from app.gateway.transport import Call, Transport, path_step


class BalancesClient:
    """The balances of one point of sale. Served at their own address, without the endpoints key."""

    def __init__(self, transport: Transport, credentials: Credentials) -> None:
        self._transport = transport
        self._credentials = credentials

    async def accounts(self, *, timeout: float) -> tuple[BalanceAccount, ...]:
        """All accounts."""
        call = self._call("")
        answer = await self._transport.exchange(call, timeout=timeout)
        data = answers.content(call, answer)
        accounts = data.get("accounts") if isinstance(data, dict) else None
        if not isinstance(accounts, list):
            raise call.error(OutcomeUnknownError, "no list of accounts in the answer", http_status=answer.status)
        return tuple(answers.read(call, BalanceAccount, account) for account in accounts)

    async def account(self, account_id: str, *, timeout: float) -> BalanceAccount:
        """One account. ``RefusedError`` if there is none with this id."""
        call = self._call(f"/{path_step(account_id)}")
        answer = await self._transport.exchange(call, timeout=timeout)
        return answers.read(call, BalanceAccount, answers.content(call, answer))

    def _call(self, step: str) -> Call:
        return Call(
            method="GET",
            base_url=self._credentials.balances_url or self._credentials.base_url,
            path=f"/api/v1/balances/pos/{self._credentials.pos_id}/accounts{step}",
            with_endpoints_key=False,
        )
