"""The transaction register in two steps (gateway interface, 10). Only X-API-AUTH is needed here."""

from datetime import timedelta
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import Response

from gateway_client.sandbox.api.access import JsonObject, SandboxDep, authenticate, authenticate_by_api_key
from gateway_client.sandbox.api.responses import json_response, ndjson_response
from gateway_client.sandbox.core.bodies import RegisterBody, read_body
from gateway_client.sandbox.core.gateway_state import GatewayState
from gateway_client.sandbox.core.records import Operation, Payment, Register
from gateway_client.sandbox.core.refusals import InvalidFieldsError, UnknownRecordError
from gateway_client.sandbox.render import period_row

router = APIRouter(prefix="/streaming-report")

_MAX_PERIOD = timedelta(days=31)
_DEFAULT_FIELDS = (
    *("orderId", "paymentId", "amount", "currency", "method", "status", "dateTime"),
    *("cardMask", "payway", "customerFee", "merchantFee"),
)
_OPTIONAL_FIELDS = (
    *("projectId", "entityName", "projectName", "originalAmount", "exchangeAmount", "exchangeCurrency"),
    *("exchangeRate", "tokenizationKind", "authCode", "rrnCode", "description", "payload", "paymentSystem"),
    *("recipientCardMask", "reserveAmount", "receiverName", "receiverAmount", "receiverFee"),
)
_RECEIVER_FIELDS = {"receiverName", "receiverAmount", "receiverFee"}


@router.post("/start")
async def start(request: Request, sandbox: SandboxDep, body: JsonObject) -> Response:
    """Request a register. Its rows are fixed at this moment."""
    pos = authenticate(sandbox, request, body.get("project_id"), with_endpoints_key=False)
    fields = read_body(RegisterBody, body)
    if not timedelta(0) <= fields.end_date - fields.start_date <= _MAX_PERIOD:
        raise InvalidFieldsError([("end_date", "the period is at most 31 days")])
    names = tuple(fields.transaction_details or _DEFAULT_FIELDS)
    if unknown := set(names) - {*_DEFAULT_FIELDS, *_OPTIONAL_FIELDS}:
        raise InvalidFieldsError([("transaction_details", f"unknown: {', '.join(sorted(unknown))}")])
    sandbox.catch_up()
    state = sandbox.state
    rows = []
    entries: list[Payment | Operation] = [*state.payments.values(), *state.operations.values()]
    for entry in sorted(entries, key=lambda entry: entry.created_at):
        in_period = fields.start_date <= entry.created_at <= fields.end_date and entry.pos_id == pos.pos_id
        wanted = entry.method in (fields.methods or [entry.method])
        if in_period and wanted and entry.status.value in (fields.statuses or [entry.status.value]):
            full = _row(state, entry, pos.name)
            receivers = _receiver_fields(entry) if _RECEIVER_FIELDS & set(names) else [{}]
            rows += [{name: (full | receiver)[name] for name in names} for receiver in receivers]
    behaviour = state.behaviour(pos.pos_id)
    register = Register(
        report_id=str(state.new_id()),
        pos_id=pos.pos_id,
        rows=rows,
        ready_at=sandbox.now() + behaviour.register_delay,
        polls_left=behaviour.register_polls,
    )
    state.registers[register.report_id] = register
    sandbox.save()
    return json_response({"report_id": register.report_id, "count": len(rows)})


@router.get("/fetch/{report_id}")
async def fetch(request: Request, sandbox: SandboxDep, report_id: str) -> Response:
    """Return the rows, one per line, or `report_not_ready` until the register is ready."""
    pos = authenticate_by_api_key(sandbox, request)
    register = sandbox.state.registers.get(report_id)
    if register is None or sandbox.points_of_sale[register.pos_id].api_key != pos.api_key:
        raise UnknownRecordError("Register not found")
    if register.polls_left > 0 or sandbox.now() < register.ready_at:
        register.polls_left = max(0, register.polls_left - 1)
        sandbox.save()
        status = sandbox.state.behaviour(register.pos_id).register_http_status
        return json_response({"message": "The register is not ready yet", "code": "report_not_ready"}, status)
    return ndjson_response(register.rows)


def _row(state: GatewayState, entry: Payment | Operation, project_name: str) -> dict[str, Any]:
    payment = state.payments[entry.payment_id]
    row = period_row(state, entry, "registers")
    original = f"{entry.amount:.2f}"
    return row | {
        "cardMask": payment.card.mask if payment.card else "",
        "payway": payment.payway or "",
        "entityName": project_name,
        "projectName": project_name,
        "originalAmount": original,
        "exchangeAmount": original,
        "exchangeCurrency": row["currency"],
        "exchangeRate": "1.00",
        "tokenizationKind": "",
        "reserveAmount": f"{entry.reserve:.2f}",
        **dict.fromkeys(_RECEIVER_FIELDS, ""),
    }


def _receiver_fields(entry: Payment | Operation) -> list[dict[str, str]]:
    """Return the receiver fields of a transaction's rows: one row for each sub-merchant of a split transaction."""
    return [
        {"receiverName": str(share.sub_merchant_id), "receiverAmount": f"{share.amount:.2f}", "receiverFee": "0.00"}
        for share in entry.shares
    ] or [{}]
