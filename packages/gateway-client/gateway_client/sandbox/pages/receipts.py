"""Receipts, as HTML (`receipt_url` of successful payments and refunds)."""

from uuid import UUID

from fastapi import APIRouter, Request
from fastapi.responses import Response

from gateway_client.sandbox.api.access import SandboxDep
from gateway_client.sandbox.core.codes import Status
from gateway_client.sandbox.core.refusals import UnknownRecordError
from gateway_client.sandbox.pages.rendering import render_page
from gateway_client.sandbox.pages.texts import TEXTS, format_money

router = APIRouter()


@router.get("/public/receipt/{identifier}")
async def receipt(request: Request, sandbox: SandboxDep, identifier: UUID) -> Response:
    """Return the receipt of a payment or of a refund."""
    refund = sandbox.state.operations.get(identifier)
    entry = refund or sandbox.state.payments.get(identifier)
    if entry is None or entry.status is not Status.SUCCESS:
        raise UnknownRecordError("Receipt not found")
    payment = sandbox.state.payments[entry.payment_id]
    language = payment.language
    if request.query_params.get("lang") in TEXTS:
        language = "uk" if request.query_params["lang"] == "uk" else "en"
    texts = TEXTS[language]
    return render_page(
        request,
        "receipt.html",
        payment=payment,
        entry=entry,
        title=texts["receipt_refund" if refund else "receipt"],
        merchant=sandbox.point_of_sale(payment.pos_id).name,
        amount=format_money(entry.amount, entry.currency, language),
        words=texts,
        language=language,
        other_language="en" if language == "uk" else "uk",
    )
