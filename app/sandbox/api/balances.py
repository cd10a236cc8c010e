"""Balances (gateway interface, 11). Only X-API-AUTH is needed here.

Both spellings of the rolling reserve occur at the gateway: the list says `rollingReserve`, one account
`rolling_reserve`, as the interface's examples do.
"""

from typing import Any
from uuid import UUID

from fastapi import APIRouter, Request
from fastapi.responses import Response

from app.sandbox.api.access import TheSandbox, authenticate
from app.sandbox.api.answers import json_answer
from app.sandbox.core.gateway_state import Account
from app.sandbox.core.refusals import InvalidFieldsError, UnknownRecordError
from app.sandbox.sandbox import Sandbox

router = APIRouter(prefix="/api/v1/balances/pos/{pos_id}/accounts")

_FIRST_CURRENCY = "UAH"


@router.get("")
async def accounts(request: Request, sandbox: TheSandbox, pos_id: str) -> Response:
    """All accounts of a merchant project; one for each currency that was used."""
    found = _accounts(request, sandbox, pos_id)
    return json_answer({"accounts": [_record(account, "rollingReserve") for account in found]})


@router.get("/{account_id}")
async def account(request: Request, sandbox: TheSandbox, pos_id: str, account_id: str) -> Response:
    """One account."""
    found = _accounts(request, sandbox, pos_id)
    try:
        wanted = UUID(account_id)
    except ValueError:
        raise InvalidFieldsError([("account_id", "must be a UUID")]) from None
    for candidate in found:
        if candidate.account_id == wanted:
            return json_answer(_record(candidate, "rolling_reserve"))
    raise UnknownRecordError("Account not found")


def _accounts(request: Request, sandbox: Sandbox, pos_id: str) -> list[Account]:
    pos = authenticate(sandbox, request, pos_id, with_endpoints_key=False)
    sandbox.catch_up()
    sandbox.state.account(pos.pos_id, _FIRST_CURRENCY)  # a project has an account from the first day
    return list(sandbox.state.accounts[pos.pos_id].values())


def _record(account: Account, reserve_name: str) -> dict[str, Any]:
    return {
        "id": str(account.account_id),
        "name": f"Sandbox account {account.currency}",
        "currency": account.currency,
        "balances": {"available": account.available, reserve_name: account.reserve},
    }
