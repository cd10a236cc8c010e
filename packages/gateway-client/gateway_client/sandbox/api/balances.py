"""Balances (gateway interface, 11). Only X-API-AUTH is needed here.

The gateway has two spellings of the rolling reserve, as in the interface's examples: `rollingReserve` in the list,
`rolling_reserve` in a single account.
"""

from typing import Any
from uuid import UUID

from fastapi import APIRouter, Request
from fastapi.responses import Response

from gateway_client.sandbox.api.access import SandboxDep, authenticate
from gateway_client.sandbox.api.responses import json_response
from gateway_client.sandbox.core.gateway_state import Account
from gateway_client.sandbox.core.refusals import InvalidFieldsError, UnknownRecordError
from gateway_client.sandbox.sandbox import Sandbox

router = APIRouter(prefix="/api/v1/balances/pos/{pos_id}/accounts")

_DEFAULT_CURRENCY = "UAH"


@router.get("")
async def accounts(request: Request, sandbox: SandboxDep, pos_id: str) -> Response:
    """Return all accounts of a merchant project; one for each currency that was used."""
    found = _accounts(request, sandbox, pos_id)
    return json_response({"accounts": [_record(account, "rollingReserve") for account in found]})


@router.get("/{account_id}")
async def account(request: Request, sandbox: SandboxDep, pos_id: str, account_id: str) -> Response:
    """Return one account."""
    found = _accounts(request, sandbox, pos_id)
    try:
        wanted = UUID(account_id)
    except ValueError:
        raise InvalidFieldsError([("account_id", "must be a UUID")]) from None
    for candidate in found:
        if candidate.account_id == wanted:
            return json_response(_record(candidate, "rolling_reserve"))
    raise UnknownRecordError("Account not found")


def _accounts(request: Request, sandbox: Sandbox, pos_id: str) -> list[Account]:
    pos = authenticate(sandbox, request, pos_id, with_endpoints_key=False)
    sandbox.catch_up()
    sandbox.state.account(pos.pos_id, _DEFAULT_CURRENCY)  # a project always has an account
    return list(sandbox.state.accounts[pos.pos_id].values())


def _record(account: Account, reserve_name: str) -> dict[str, Any]:
    return {
        "id": str(account.account_id),
        "name": f"Sandbox account {account.currency}",
        "currency": account.currency,
        "balances": {"available": account.available, reserve_name: account.reserve},
    }
