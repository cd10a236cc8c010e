"""The merchant's accounts at the gateway (gateway interface, 11)."""

from gateway_client import responses
from gateway_client.credentials import Credentials
from gateway_client.errors import OutcomeUnknownError
from gateway_client.models.accounts import BalanceAccount
from gateway_client.transport import Call, Transport, path_segment


class BalancesClient:
    """The balances of one point of sale. They have their own base URL and need no endpoints key."""

    def __init__(self, transport: Transport, credentials: Credentials) -> None:
        self._transport = transport
        self._credentials = credentials

    async def accounts(self, *, timeout: float) -> tuple[BalanceAccount, ...]:
        """Return all accounts."""
        call = self._call("")
        response = await self._transport.exchange(call, timeout=timeout)
        data = responses.decode(call, response)
        accounts = data.get("accounts") if isinstance(data, dict) else None
        if not isinstance(accounts, list):
            raise call.error(OutcomeUnknownError, "no list of accounts in the answer", http_status=response.status)
        return tuple(responses.parse(call, BalanceAccount, account) for account in accounts)

    async def account(self, account_id: str, *, timeout: float) -> BalanceAccount:
        """Return one account. Raises ``RefusedError`` if there is none with this id."""
        call = self._call(f"/{path_segment(account_id)}")
        response = await self._transport.exchange(call, timeout=timeout)
        return responses.parse(call, BalanceAccount, responses.decode(call, response))

    def _call(self, step: str) -> Call:
        return Call(
            method="GET",
            base_url=self._credentials.balances_url or self._credentials.base_url,
            path=f"/api/v1/balances/pos/{self._credentials.pos_id}/accounts{step}",
            with_endpoints_key=False,
        )
