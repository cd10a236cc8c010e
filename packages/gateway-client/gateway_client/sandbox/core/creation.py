"""Creation of payments: the checks that need more than one field, and the initial record.

Source: gateway interface, 1 and 2.
"""

from datetime import datetime, timedelta
from decimal import Decimal
from uuid import UUID

from gateway_client.sandbox.core import attempts, cards, shares, subscriptions
from gateway_client.sandbox.core.bodies import DirectPayment, HostedPayment, PaymentFields, Payout
from gateway_client.sandbox.core.codes import BAD_CARD, BAD_CURRENCY, CARD_EXPIRED, OK
from gateway_client.sandbox.core.fields import check_webhook_port
from gateway_client.sandbox.core.gateway_state import GatewayState
from gateway_client.sandbox.core.records import CardOnFile, Payment
from gateway_client.sandbox.core.refusals import InvalidFieldsError
from gateway_client.sandbox.settings import Behaviour

TAX_ID_THRESHOLD = Decimal(30_000)
_WALLET_PREFIX = "rcr:"
_TOKEN_LIFETIME = timedelta(days=3 * 365)


def create_hosted_payment(
    state: GatewayState, pos_id: UUID, body: HostedPayment, base_url: str, now: datetime
) -> Payment:
    """Create a payment that is paid on the gateway's page. Raises InvalidFieldsError."""
    _validate(state, pos_id, body)
    if not _is_currency_accepted(state, pos_id, body.currency):
        raise InvalidFieldsError([("currency", "is not one that this point of sale takes")])
    lifetime = timedelta(seconds=body.order_timeout) if body.order_timeout else None
    payment = _create_payment(state, pos_id, body, base_url, now, lifetime=lifetime)
    payment.language = "uk" if (body.customer_lang or "").lower().startswith("uk") else "en"
    return payment


def create_direct_payment(
    state: GatewayState, pos_id: UUID, body: DirectPayment, base_url: str, now: datetime
) -> Payment:
    """Create a payment and pay it at once with the data from the merchant's page. Raises InvalidFieldsError."""
    _validate(state, pos_id, body)
    payment = _create_payment(state, pos_id, body, base_url, now)
    if not _is_currency_accepted(state, pos_id, body.currency):
        attempts.apply_status_code(state, payment, BAD_CURRENCY, now)
        return payment
    attempts.attempt(state, payment, _card_from_body(state, pos_id, body, now), now)
    return payment


def create_payout(state: GatewayState, pos_id: UUID, body: Payout, base_url: str, now: datetime) -> Payment:
    """Create a payout to a card. Raises InvalidFieldsError."""
    _validate(state, pos_id, body)
    payment = _create_payment(state, pos_id, body, base_url, now)
    payment.properties = None if body.properties is None else body.properties.model_dump(exclude_unset=True)
    if body.cc_number is not None:
        recipient = get_or_create_card(state, pos_id, body.cc_number, now)
    else:
        recipient = _find_card_by_token(state, pos_id, body.cc_token or "", now)
    attempts.attempt(state, payment, recipient, now)
    return payment


def get_or_create_card(
    state: GatewayState, pos_id: UUID, number: str, now: datetime, *, code: str | None = None
) -> CardOnFile:
    """Return the card with its token; the same test card always has the same token. The number is not stored."""
    mask, code = cards.mask_number(number), code or cards.code_of_card(number)
    for known in state.cards.values():
        if (known.pos_id, known.mask, known.code) == (pos_id, mask, code):
            return known
    card = CardOnFile(
        token=state.new_id().hex + state.new_id().hex[:8],
        pos_id=pos_id,
        mask=mask,
        code=code,
        expires=now + _TOKEN_LIFETIME,
    )
    state.cards[card.token] = card
    return card


def create_wallet_card(state: GatewayState, pos_id: UUID, now: datetime, code: str = OK) -> CardOnFile:
    """Create a wallet's card on file, whose payments end with `code`. Its token begins with `rcr:`."""
    token = _WALLET_PREFIX + state.new_id().hex
    card = CardOnFile(token=token, pos_id=pos_id, mask="424242******4242", code=code, expires=now + _TOKEN_LIFETIME)
    state.cards[token] = card
    return card


def _create_payment(
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
        subscriptions.create_subscription(state, payment, body.init_recurring, now)
    return payment


def _validate(state: GatewayState, pos_id: UUID, body: HostedPayment | DirectPayment | Payout) -> None:
    behaviour = state.behaviour(pos_id)
    low, high = behaviour.minimum_amount, behaviour.maximum_amount
    if not low <= body.amount <= high:
        raise InvalidFieldsError([("amount", f"must be from {low} to {high} {body.currency}")])
    check_webhook_port(behaviour, body.server_url)
    if isinstance(body, Payout):
        _check_payout(behaviour, body)
        return
    if body.split is not None:
        shares.check(state, pos_id, body.shares, body.amount)
    if behaviour.sector == "microfinance":
        if body.customer_birthday is None and body.customer_tax_id is None:
            raise InvalidFieldsError([("customer_birthday", "this or customer_tax_id is mandatory")])
        if body.currency == "UAH" and body.amount > TAX_ID_THRESHOLD and body.customer_tax_id is None:
            raise InvalidFieldsError([("customer_tax_id", "is mandatory above 30000 UAH")])
    if behaviour.sector != "general" and body.mode == "hosted":
        _require_names(body)


def _check_payout(behaviour: Behaviour, body: Payout) -> None:
    """Check what some sectors must say of a recipient (public pages). Raises InvalidFieldsError."""
    if not behaviour.payout_identity or behaviour.sector == "general":
        return
    required = ["customer_fname", "customer_lname", "customer_birthday"]
    if behaviour.sector == "microfinance" and body.currency == "UAH" and body.amount > TAX_ID_THRESHOLD:
        required.append("customer_tax_id")
    if missing := [name for name in required if not getattr(body, name)]:
        raise InvalidFieldsError([(name, "Field required") for name in missing])


def _require_names(body: PaymentFields) -> None:
    missing = [name for name in ("customer_fname", "customer_lname") if not getattr(body, name)]
    if missing:
        raise InvalidFieldsError([(name, "Field required") for name in missing])


def _is_currency_accepted(state: GatewayState, pos_id: UUID, currency: str) -> bool:
    currencies = state.behaviour(pos_id).currencies
    return currencies is None or currency in currencies


def _card_from_body(state: GatewayState, pos_id: UUID, body: DirectPayment, now: datetime) -> CardOnFile:
    if body.cc_token is not None:
        return _find_card_by_token(state, pos_id, body.cc_token, now)
    if body.cc_number is None or body.exp_month is None or body.exp_year is None:
        return create_wallet_card(state, pos_id, now)  # a cryptogram, so a wallet's card
    return entered_card(state, pos_id, body.cc_number, (body.exp_year, body.exp_month), now)


def entered_card(state: GatewayState, pos_id: UUID, number: str, expiry: tuple[int, int], now: datetime) -> CardOnFile:
    """Return an entered card. `expiry` is year (two or four digits) and month; an expired card has code 4001."""
    year, month = expiry
    full_year = year + 2000 if year < 100 else year
    expired = (full_year, month) < (now.year, now.month)
    return get_or_create_card(state, pos_id, number, now, code=CARD_EXPIRED if expired else None)


def _find_card_by_token(state: GatewayState, pos_id: UUID, token: str, now: datetime) -> CardOnFile:
    card = state.cards.get(token)
    if card is not None and card.pos_id == pos_id and card.expires > now:
        return card
    return CardOnFile(token="", pos_id=pos_id, mask="", code=BAD_CARD, expires=now)
