"""The payer's pages (gateway interface, 1b: checkout form and QR page; 3DS behind `user_action_url`).

After the payment the payer returns to `result_url` with `order_id` and `status` added to its query. The parameters
are unsigned, so they are for display only; their names come from the provider's plugins.
"""

import re
from datetime import datetime
from typing import Annotated
from urllib.parse import urlencode, urlsplit, urlunsplit
from uuid import UUID

import segno
from fastapi import APIRouter, Depends, Form, Request
from fastapi.responses import RedirectResponse, Response
from markupsafe import Markup

from gateway_client.sandbox.api.access import SandboxDep, sandbox_of
from gateway_client.sandbox.core import attempts
from gateway_client.sandbox.core.cards import code_of_card, coded_card
from gateway_client.sandbox.core.codes import BAD_CARD, OTP_NEEDED, Status
from gateway_client.sandbox.core.creation import entered_card
from gateway_client.sandbox.core.records import Payment
from gateway_client.sandbox.pages.rendering import render_page
from gateway_client.sandbox.pages.texts import TEXTS, Language, format_money
from gateway_client.sandbox.render import checkout_url
from gateway_client.sandbox.sandbox import Sandbox

router = APIRouter(prefix="/api/v1/checkout/{checkout_id}")

TILES = (
    ("1000", "4242424242424242"),
    *((code, coded_card(code)) for code in ("2122", "2102", "2119", "4009", "4001", "4010")),
)
_RESULT = {Status.SUCCESS: "success", Status.FAILURE: "rejected", Status.PENDING: "pending", Status.INIT: "init"}
_EXPIRY = re.compile(r"^(0[1-9]|1[0-2])\s*/\s*(\d{2})$")
_ONE_TIME_PASSWORD = "123456"  # noqa: S105 - the page itself shows it


async def _get_payment(request: Request, checkout_id: UUID) -> Payment:
    sandbox = sandbox_of(request)
    sandbox.catch_up()
    return sandbox.state.payment_by_checkout_id(checkout_id)


PaymentDep = Annotated[Payment, Depends(_get_payment)]
Field = Annotated[str, Form()]


@router.get("/form")
async def form(request: Request, sandbox: SandboxDep, payment: PaymentDep) -> Response:
    """Return the page where the payer pays; after an attempt, its outcome, unless another card can be tried."""
    if payment.waits_for_payer:
        return RedirectResponse(_page_path(payment, "3ds"), 303)
    if not attempts.takes_card(sandbox.state, payment, sandbox.now()):
        return _outcome_page(request, payment)
    return _form_page(request, sandbox, payment, {}, {})


@router.post("/form")
async def pay(
    request: Request,
    sandbox: SandboxDep,
    payment: PaymentDep,
    number: Field = "",
    expiry: Field = "",
) -> Response:
    """Pay with the card that the payer entered, or apply the outcome that the payer chose."""
    if not attempts.takes_card(sandbox.state, payment, sandbox.now()):
        return RedirectResponse(_page_path(payment, "form"), 303)
    chosen = await request.form()
    if chosen.get("way") == "abandon":
        return _render(request, payment, "left.html")
    if chosen.get("way") == "expire" and payment.status is Status.INIT:
        attempts.expire(sandbox.state, payment, sandbox.now())
        sandbox.publish_changes()
        return RedirectResponse(_page_path(payment, "form"), 303)
    now = sandbox.now()
    tile = str(chosen.get("card", ""))
    number, expiry, cvv = (
        (tile, f"12/{now.year % 100:02}", "123")
        if tile
        else (re.sub(r"[\s-]", "", number), expiry.strip(), str(chosen.get("cvv", "")))
    )
    problems = _validate_card_fields(number, expiry, cvv)
    if problems:
        return _form_page(request, sandbox, payment, {"number": number, "expiry": expiry}, problems)
    month, year = (int(part) for part in expiry.split("/"))
    card = entered_card(sandbox.state, payment.pos_id, number, (year, month), now)
    attempts.attempt(sandbox.state, payment, card, now)
    sandbox.publish_changes()
    return _redirect_after_attempt(payment)


@router.get("/3ds")
async def challenge(request: Request, payment: PaymentDep) -> Response:
    """Return the bank's page, where the payer confirms or refuses the payment."""
    if not payment.waits_for_payer:
        return RedirectResponse(_page_path(payment, "form"), 303)
    return _render(request, payment, "challenge.html", problem=None, with_code=payment.status_code == OTP_NEEDED)


@router.post("/3ds")
async def answer_challenge(
    request: Request, sandbox: SandboxDep, payment: PaymentDep, answer: Field, otp: Field = ""
) -> Response:
    """Apply the payer's answer to the bank."""
    if not payment.waits_for_payer:
        return RedirectResponse(_page_path(payment, "form"), 303)
    with_code = payment.status_code == OTP_NEEDED
    if answer == "confirm" and with_code and otp.strip() != _ONE_TIME_PASSWORD:
        return _render(request, payment, "challenge.html", 400, problem="bad_otp", with_code=True)
    attempts.answer_challenge(sandbox.state, payment, sandbox.now(), passed=answer == "confirm")
    sandbox.publish_changes()
    return _redirect_after_attempt(payment)


@router.get("/qr")
async def qr(request: Request, payment: PaymentDep) -> Response:
    """Return the address of the form as a QR code. The page refreshes itself while the payment is open."""
    if payment.status is not Status.INIT:
        return _outcome_page(request, payment)
    code = segno.make(checkout_url(payment, "form"), error="m", micro=False)
    drawing = code.svg_inline(border=2, omitsize=True, dark="#000", light="#fff")
    return _render(request, payment, "qr.html", svg=Markup(drawing))  # noqa: S704 - drawn by segno, with no untrusted text in it


def shop_url(payment: Payment) -> str | None:
    """Return `result_url` with the outcome added to its query; None without one. Its own query parameters stay."""
    if payment.result_url is None:
        return None
    parts = urlsplit(payment.result_url)
    added = urlencode({"order_id": payment.order_id, "status": _RESULT[payment.status]})
    return urlunsplit(parts._replace(query=f"{parts.query}&{added}" if parts.query else added))


def _redirect_after_attempt(payment: Payment) -> Response:
    if payment.waits_for_payer:
        return RedirectResponse(_page_path(payment, "3ds"), 303)
    return RedirectResponse(shop_url(payment) or _page_path(payment, "form"), 303)


def _form_page(
    request: Request, sandbox: Sandbox, payment: Payment, typed: dict[str, str], problems: dict[str, str]
) -> Response:
    now: datetime = sandbox.now()
    return _render(
        request,
        payment,
        "form.html",
        400 if problems else 200,
        minutes=max(1, round((payment.expires_at - now).total_seconds() / 60)),
        typed={"number": "4242 4242 4242 4242", "expiry": f"12/{(now.year + 3) % 100:02}"} | typed,
        problems=problems,
        tiles=[(code, number, _group_digits(number)) for code, number in TILES],
        fits_in_qr=_page_path(payment, "qr"),
    )


def _outcome_page(request: Request, payment: Payment) -> Response:
    return _render(request, payment, "outcome.html")


def _render(request: Request, payment: Payment, template: str, status: int = 200, **values: object) -> Response:
    language: Language = payment.language
    if request.query_params.get("lang") in TEXTS:
        language = "uk" if request.query_params["lang"] == "uk" else "en"
    return render_page(
        request,
        template,
        status,
        payment=payment,
        merchant=sandbox_of(request).point_of_sale(payment.pos_id).name,
        amount=format_money(payment.paid_amount, payment.currency, language),
        words=TEXTS[language],
        language=language,
        other_language="en" if language == "uk" else "uk",
        shop=shop_url(payment),
        form_address=_page_path(payment, "form"),
        **values,
    )


def _validate_card_fields(number: str, expiry: str, cvv: str) -> dict[str, str]:
    problems = {}
    if code_of_card(number) == BAD_CARD and number != coded_card(BAD_CARD):
        problems["number"] = "bad_number"
    if not _EXPIRY.match(expiry):
        problems["expiry"] = "bad_expiry"
    if not re.fullmatch(r"\d{3,4}", cvv):
        problems["cvv"] = "bad_cvv"
    return problems


def _group_digits(number: str) -> str:
    return " ".join(number[place : place + 4] for place in range(0, len(number), 4))


def _page_path(payment: Payment, name: str) -> str:
    return f"/api/v1/checkout/{payment.checkout_id}/{name}"
