"""Receipts, as HTML (`receipt_url` of successful payments and refunds)."""

from uuid import UUID

from fastapi import APIRouter, Request
from fastapi.responses import Response

from app.sandbox.api.access import TheSandbox
from app.sandbox.core.codes import Status
from app.sandbox.core.refusals import UnknownRecordError
from app.sandbox.pages.rendering import page
from app.sandbox.pages.words import WORDS, money

router = APIRouter()


@router.get("/public/receipt/{identifier}")
async def receipt(request: Request, sandbox: TheSandbox, identifier: UUID) -> Response:
    """The receipt of a payment or of a refund."""
    refund = sandbox.state.operations.get(identifier)
    entry = refund or sandbox.state.payments.get(identifier)
    if entry is None or entry.status is not Status.SUCCESS:
        raise UnknownRecordError("Receipt not found")
    payment = sandbox.state.payments[entry.payment_id]
    language = payment.language
    if request.query_params.get("lang") in WORDS:
        language = "uk" if request.query_params["lang"] == "uk" else "en"
    words = WORDS[language]
    return page(
        request,
        "receipt.html",
        payment=payment,
        entry=entry,
        title=words["receipt_refund" if refund else "receipt"],
        merchant=sandbox.point_of_sale(payment.pos_id).name,
        amount=money(entry.amount, entry.currency, language),
        words=words,
        language=language,
        other_language="en" if language == "uk" else "uk",
    )
