"""Opening a payment: the checks that need more than one field, and the record it begins with.

Source: gateway interface, 1 and 2.
"""

from datetime import datetime, timedelta
from decimal import Decimal
from uuid import UUID

from app.sandbox.core import attempts, cards, shares, subscriptions
from app.sandbox.core.bodies import DirectPayment, HostedPayment, PaymentFields, Payout
from app.sandbox.core.codes import BAD_CARD, BAD_CURRENCY, CARD_EXPIRED, OK
from app.sandbox.core.fields import check_webhook_port
from app.sandbox.core.gateway_state import GatewayState
from app.sandbox.core.records import CardOnFile, Payment
from app.sandbox.core.refusals import InvalidFieldsError

TAX_ID_ABOVE = Decimal(30_000)
_WALLET_PREFIX = "rcr:"
_TOKEN_LIFE = timedelta(days=3 * 365)


def open_hosted(state: GatewayState, pos_id: UUID, body: HostedPayment, base_url: str, now: datetime) -> Payment:
    """Open a payment that the gateway's page will take. Raises InvalidFieldsError."""
    _check(state, pos_id, body)
    if not _currency_taken(state, pos_id, body.currency):
        raise InvalidFieldsError([("currency", "is not one that this point of sale takes")])
    lifetime = timedelta(seconds=body.order_timeout) if body.order_timeout else None
    payment = _open(state, pos_id, body, base_url, now, lifetime=lifetime)
    payment.language = "uk" if (body.customer_lang or "").lower().startswith("uk") else "en"
    return payment


def pay_direct(state: GatewayState, pos_id: UUID, body: DirectPayment, base_url: str, now: datetime) -> Payment:
    """Open a payment and pay it at once with what the merchant's page collected. Raises InvalidFieldsError."""
    _check(state, pos_id, body)
    payment = _open(state, pos_id, body, base_url, now)
    if not _currency_taken(state, pos_id, body.currency):
        attempts.finish(state, payment, BAD_CURRENCY, now)
        return payment
    attempts.attempt(state, payment, _card_of(state, pos_id, body, now), now)
    return payment


def pay_out(state: GatewayState, pos_id: UUID, body: Payout, base_url: str, now: datetime) -> Payment:
    """Send money to a card. Raises InvalidFieldsError."""
    _check(state, pos_id, body)
    payment = _open(state, pos_id, body, base_url, now)
    payment.properties = None if body.properties is None else body.properties.model_dump(exclude_unset=True)
    if body.cc_number is not None:
        recipient = card_on_file(state, pos_id, body.cc_number, now)
    else:
        recipient = _by_token(state, pos_id, body.cc_token or "", now)
    attempts.attempt(state, payment, recipient, now)
    return payment


def card_on_file(
    state: GatewayState, pos_id: UUID, number: str, now: datetime, *, code: str | None = None
) -> CardOnFile:
    """The card with its token; the same test card always has the same token. The number is forgotten."""
    mask, code = cards.masked(number), code or cards.code_of_card(number)
    for known in state.cards.values():
        if (known.pos_id, known.mask, known.code) == (pos_id, mask, code):
            return known
    card = CardOnFile(
        token=state.new_id().hex + state.new_id().hex[:8],
        pos_id=pos_id,
        mask=mask,
        code=code,
        expires=now + _TOKEN_LIFE,
    )
    state.cards[card.token] = card
    return card


def wallet_token(state: GatewayState, pos_id: UUID, now: datetime, code: str = OK) -> CardOnFile:
    """A token for a wallet's card, which ends with `code`. Such tokens begin with `rcr:`."""
    token = _WALLET_PREFIX + state.new_id().hex
    card = CardOnFile(token=token, pos_id=pos_id, mask="424242******4242", code=code, expires=now + _TOKEN_LIFE)
    state.cards[token] = card
    return card


def _open(
    state: GatewayState,
    pos_id: UUID,
    body: HostedPayment | DirectPayment | Payout,
    base_url: str,
    now: datetime,
    *,
    lifetime: timedelta | None = None,
) -> Payment:
    payment = Payment(
        payment_id=state.new_id(),
        checkout_id=state.new_id(),
        order_id=body.order_id,
        pos_id=pos_id,
        mode=body.mode,
        method=body.method,
        amount=body.amount,
        currency=body.currency,
        description=body.description,
        created_at=now,
        expires_at=now + (lifetime or state.behaviour(pos_id).lifetime),
        server_url=body.server_url,
        result_url=body.result_url,
        customer=body.customer,
        payload=body.payload,
        mcc=body.merchant_mcc,
        options_3ds=body.order_3ds_bypass,
        base_url=base_url,
        customer_fee=state.customer_fee(pos_id, body.amount),
    )
    if isinstance(body, PaymentFields):
        payment.attributes = [attribute.model_dump() for attribute in body.attributes or ()]
        payment.products, payment.shares = body.goods, body.shares
    state.add_payment(payment)
    if isinstance(body, PaymentFields) and body.init_recurring is not None:
        subscriptions.begin(state, payment, body.init_recurring, now)
    return payment


def _check(state: GatewayState, pos_id: UUID, body: HostedPayment | DirectPayment | Payout) -> None:
    behaviour = state.behaviour(pos_id)
    low, high = behaviour.minimum_amount, behaviour.maximum_amount
    if not low <= body.amount <= high:
        raise InvalidFieldsError([("amount", f"must be from {low} to {high} {body.currency}")])
    check_webhook_port(behaviour, body.server_url)
    if isinstance(body, Payout):
        return
    if body.split is not None:
        shares.check(state, pos_id, body.shares, body.amount)
    if behaviour.sector == "microfinance":
        if body.customer_birthday is None and body.customer_tax_id is None:
            raise InvalidFieldsError([("customer_birthday", "this or customer_tax_id is mandatory")])
        if body.currency == "UAH" and body.amount > TAX_ID_ABOVE and body.customer_tax_id is None:
            raise InvalidFieldsError([("customer_tax_id", "is mandatory above 30000 UAH")])
    if behaviour.sector != "general" and body.mode == "hosted":
        _names_given(body)


def _names_given(body: PaymentFields) -> None:
    missing = [name for name in ("customer_fname", "customer_lname") if not getattr(body, name)]
    if missing:
        raise InvalidFieldsError([(name, "Field required") for name in missing])


def _currency_taken(state: GatewayState, pos_id: UUID, currency: str) -> bool:
    currencies = state.behaviour(pos_id).currencies
    return currencies is None or currency in currencies


def _card_of(state: GatewayState, pos_id: UUID, body: DirectPayment, now: datetime) -> CardOnFile:
    if body.cc_token is not None:
        return _by_token(state, pos_id, body.cc_token, now)
    if body.cc_number is None or body.exp_month is None or body.exp_year is None:
        return wallet_token(state, pos_id, now)  # a cryptogram: a wallet's card
    return typed_card(state, pos_id, body.cc_number, (body.exp_year, body.exp_month), now)


def typed_card(state: GatewayState, pos_id: UUID, number: str, expiry: tuple[int, int], now: datetime) -> CardOnFile:
    """A card that somebody typed in. `expiry` is year (two or four digits) and month; one that is over: 4001."""
    year, month = expiry
    full_year = year + 2000 if year < 100 else year
    over = (full_year, month) < (now.year, now.month)
    return card_on_file(state, pos_id, number, now, code=CARD_EXPIRED if over else None)


def _by_token(state: GatewayState, pos_id: UUID, token: str, now: datetime) -> CardOnFile:
    card = state.cards.get(token)
    if card is not None and card.pos_id == pos_id and card.expires > now:
        return card
    return CardOnFile(token="", pos_id=pos_id, mask="", code=BAD_CARD, expires=now)
