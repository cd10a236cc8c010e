"""The payer's pages (gateway interface, 1b: checkout form and QR page; 3DS behind `user_action_url`).

After the payment the payer goes back to `result_url` with `order_id` and `status` added to its query. The parameters
are unsigned, so they are good for display only; their names come from the provider's plugins.
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

from app.sandbox.api.access import TheSandbox, sandbox_of
from app.sandbox.core import attempts
from app.sandbox.core.cards import code_of_card, coded_card
from app.sandbox.core.codes import BAD_CARD, OTP_NEEDED, Status
from app.sandbox.core.creation import typed_card
from app.sandbox.core.records import Payment
from app.sandbox.pages.rendering import page
from app.sandbox.pages.words import WORDS, Language, money
from app.sandbox.render import checkout_url
from app.sandbox.sandbox import Sandbox

router = APIRouter(prefix="/api/v1/checkout/{checkout_id}")

TILES = (
    ("1000", "4242424242424242"),
    *((code, coded_card(code)) for code in ("2122", "2102", "2119", "4009", "4001", "4010")),
)
_RESULT = {Status.SUCCESS: "success", Status.FAILURE: "rejected", Status.PENDING: "pending", Status.INIT: "init"}
_EXPIRY = re.compile(r"^(0[1-9]|1[0-2])\s*/\s*(\d{2})$")
_ONE_TIME_PASSWORD = "123456"  # noqa: S105 - the page itself says it


async def _the_payment(request: Request, checkout_id: UUID) -> Payment:
    sandbox = sandbox_of(request)
    sandbox.catch_up()
    return sandbox.state.payment_with_page(checkout_id)


ThePayment = Annotated[Payment, Depends(_the_payment)]
Field = Annotated[str, Form()]


@router.get("/form")
async def form(request: Request, sandbox: TheSandbox, payment: ThePayment) -> Response:
    """Where the payer pays; once that was tried, what became of it."""
    if payment.waits_for_payer:
        return RedirectResponse(_here(payment, "3ds"), 303)
    if payment.status is not Status.INIT:
        return _outcome(request, payment)
    return _form(request, sandbox, payment, {}, {})


@router.post("/form")
async def pay(
    request: Request,
    sandbox: TheSandbox,
    payment: ThePayment,
    number: Field = "",
    expiry: Field = "",
) -> Response:
    """The payer typed a card, or chose how it shall end."""
    if payment.status is not Status.INIT:
        return RedirectResponse(_here(payment, "form"), 303)
    chosen = await request.form()
    if chosen.get("way") == "abandon":
        return _says(request, payment, "left.html")
    if chosen.get("way") == "expire":
        attempts.expire(sandbox.state, payment, sandbox.now())
        sandbox.publish_changes()
        return RedirectResponse(_here(payment, "form"), 303)
    now = sandbox.now()
    tile = str(chosen.get("card", ""))
    number, expiry, cvv = (
        (tile, f"12/{now.year % 100:02}", "123")
        if tile
        else (re.sub(r"[\s-]", "", number), expiry.strip(), str(chosen.get("cvv", "")))
    )
    problems = _problems(number, expiry, cvv)
    if problems:
        return _form(request, sandbox, payment, {"number": number, "expiry": expiry}, problems)
    month, year = (int(part) for part in expiry.split("/"))
    card = typed_card(sandbox.state, payment.pos_id, number, (year, month), now)
    attempts.attempt(sandbox.state, payment, card, now)
    sandbox.publish_changes()
    return _onward(payment)


@router.get("/3ds")
async def challenge(request: Request, payment: ThePayment) -> Response:
    """Where the bank asks the payer."""
    if not payment.waits_for_payer:
        return RedirectResponse(_here(payment, "form"), 303)
    return _says(request, payment, "challenge.html", problem=None, with_code=payment.status_code == OTP_NEEDED)


@router.post("/3ds")
async def answer_challenge(
    request: Request, sandbox: TheSandbox, payment: ThePayment, answer: Field, otp: Field = ""
) -> Response:
    """What the payer told the bank."""
    if not payment.waits_for_payer:
        return RedirectResponse(_here(payment, "form"), 303)
    with_code = payment.status_code == OTP_NEEDED
    if answer == "confirm" and with_code and otp.strip() != _ONE_TIME_PASSWORD:
        return _says(request, payment, "challenge.html", 400, problem="bad_otp", with_code=True)
    attempts.answer_challenge(sandbox.state, payment, sandbox.now(), passed=answer == "confirm")
    sandbox.publish_changes()
    return _onward(payment)


@router.get("/qr")
async def qr(request: Request, payment: ThePayment) -> Response:
    """The address of the form as a QR code. The page looks again by itself while the payment is open."""
    if payment.status is not Status.INIT:
        return _outcome(request, payment)
    code = segno.make(checkout_url(payment, "form"), error="m", micro=False)
    drawing = code.svg_inline(border=2, omitsize=True, dark="#000", light="#fff")
    return _says(request, payment, "qr.html", svg=Markup(drawing))  # noqa: S704 - segno drew it, no stranger wrote in it


def shop_address(payment: Payment) -> str | None:
    """`result_url` with the outcome added; what its query held before stays as it was."""
    if payment.result_url is None:
        return None
    parts = urlsplit(payment.result_url)
    added = urlencode({"order_id": payment.order_id, "status": _RESULT[payment.status]})
    return urlunsplit(parts._replace(query=f"{parts.query}&{added}" if parts.query else added))


def _onward(payment: Payment) -> Response:
    if payment.waits_for_payer:
        return RedirectResponse(_here(payment, "3ds"), 303)
    return RedirectResponse(shop_address(payment) or _here(payment, "form"), 303)


def _form(
    request: Request, sandbox: Sandbox, payment: Payment, typed: dict[str, str], problems: dict[str, str]
) -> Response:
    now: datetime = sandbox.now()
    return _says(
        request,
        payment,
        "form.html",
        400 if problems else 200,
        minutes=max(1, round((payment.expires_at - now).total_seconds() / 60)),
        typed={"number": "4242 4242 4242 4242", "expiry": f"12/{(now.year + 3) % 100:02}"} | typed,
        problems=problems,
        tiles=[(code, number, _grouped(number)) for code, number in TILES],
        fits_in_qr=_here(payment, "qr"),
    )


def _outcome(request: Request, payment: Payment) -> Response:
    return _says(request, payment, "outcome.html")


def _says(request: Request, payment: Payment, template: str, status: int = 200, **values: object) -> Response:
    language: Language = payment.language
    if request.query_params.get("lang") in WORDS:
        language = "uk" if request.query_params["lang"] == "uk" else "en"
    return page(
        request,
        template,
        status,
        payment=payment,
        merchant=sandbox_of(request).point_of_sale(payment.pos_id).name,
        amount=money(payment.paid_amount, payment.currency, language),
        words=WORDS[language],
        language=language,
        other_language="en" if language == "uk" else "uk",
        shop=shop_address(payment),
        form_address=_here(payment, "form"),
        **values,
    )


def _problems(number: str, expiry: str, cvv: str) -> dict[str, str]:
    problems = {}
    if code_of_card(number) == BAD_CARD and number != coded_card(BAD_CARD):
        problems["number"] = "bad_number"
    if not _EXPIRY.match(expiry):
        problems["expiry"] = "bad_expiry"
    if not re.fullmatch(r"\d{3,4}", cvv):
        problems["cvv"] = "bad_cvv"
    return problems


def _grouped(number: str) -> str:
    return " ".join(number[place : place + 4] for place in range(0, len(number), 4))


def _here(payment: Payment, name: str) -> str:
    return f"/api/v1/checkout/{payment.checkout_id}/{name}"
