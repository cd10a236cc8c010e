"""From Saleor's question to the gateway's request for a card of the storefront, or one that is kept. Pure."""

from dataclasses import dataclass
from ipaddress import ip_address

from app.db.tables import MerchantAccount, SavedCard
from app.gateway.models.details import BrowserFingerprint
from app.gateway.models.payments import DirectPayment
from app.gateway.wallets import Wallet
from app.payments.cards.card_form import PaymentInstrument
from app.payments.core.refusal import RefusalCode, RefusalError
from app.payments.requests.payment import Terms, require
from app.payments.requests.storefront import StorefrontData
from app.payments.requests.wallets import check_wallet_taken, wallets_of


@dataclass(frozen=True, slots=True)
class DirectPlan:
    """A direct payment, ready to be recorded (without the card) and then asked for (with it)."""

    terms: Terms
    request: DirectPayment
    saved_card: SavedCard | None = None
    wallet: Wallet | None = None


@dataclass(frozen=True, slots=True)
class Browser:
    """The shopper's browser as the gateway wants to know it, and its address on the internet."""

    fingerprint: BrowserFingerprint
    ip: str


def check_sealed_taken(account: MerchantAccount) -> None:
    """Refuse what is sealed unopened where nothing of the kind is taken, neither cards nor wallets.

    Raises RefusalError.
    """
    if not wallets_of(account):
        _check_cards_taken(account)


def check_instrument_taken(account: MerchantAccount, instrument: PaymentInstrument) -> None:
    """Refuse a wallet that the account does not offer, and cards unless it may take them. Raises RefusalError."""
    if instrument.wallet is None:
        _check_cards_taken(account)
    else:
        check_wallet_taken(account, instrument.wallet)


def _check_cards_taken(account: MerchantAccount) -> None:
    # The store must have confirmed that it may (PCI DSS).
    if account.pci_dss_confirmed_at is None:
        words = "This store does not take cards in the storefront: the shopper pays on the payment page."
        raise RefusalError(RefusalCode.CARDS_NOT_ENABLED, words, "data.card")


def check_one_card(data: StorefrontData) -> None:
    """Refuse two cards for one payment. Raises RefusalError."""
    if data.card is not None and data.saved_card_id is not None:
        words = "`data.card` and `data.savedCardId` are two cards: the shopper pays with one of them."
        raise RefusalError(RefusalCode.INVALID_DATA, words, "data.savedCardId")


def browser_of(terms: Terms, caller_ip: str | None) -> Browser:
    """Return the shopper's browser (gateway interface, Browser fingerprint). Raises RefusalError.

    ``caller_ip`` is that of whoever called Saleor: of a storefront that renders on a server it is the server's, so what
    the storefront says goes before it.
    """
    data = terms.data
    if data.browser_fingerprint is None:
        words = "`data.browserFingerprint` is missing: the bank needs it to decide about 3-D Secure."
        raise RefusalError(RefusalCode.INVALID_DATA, words, "data.browserFingerprint")
    told = data.customer.ip or data.browser_fingerprint.ip_address
    ip = str(told) if told is not None else _usable(caller_ip)
    if ip is None:
        words = "The shopper's address on the internet is not known: the storefront can pass `data.customer.ip`."
        raise RefusalError(RefusalCode.MISSING_IP, words, "data.customer.ip")
    members = data.browser_fingerprint.model_dump(exclude={"ip_address"})
    return Browser(BrowserFingerprint(**members, ip_address=ip), ip)


def plan_direct(
    terms: Terms, browser: Browser, instrument: PaymentInstrument, saved_card: SavedCard | None = None
) -> DirectPlan:
    """Return the direct payment of these means (gateway interface, 1a). Raises RefusalError."""
    request = terms.request(
        DirectPayment,
        customer_ip=browser.ip,
        customer_referrer=terms.data.customer.referrer,
        browser_fingerprint=browser.fingerprint,
        **instrument.members,
    )
    return DirectPlan(terms, request, saved_card, instrument.wallet)


def check_names(terms: Terms) -> None:
    """Refuse a direct payment whose shopper has no first or last name (gateway interface, 1a). Raises RefusalError."""
    for field, what, path in (
        ("customer_fname", "first name", "data.customer.firstName"),
        ("customer_lname", "last name", "data.customer.lastName"),
    ):
        require(terms.said[field] or "", RefusalCode.MISSING_NAME, what, path)


def _usable(ip: str | None) -> str | None:
    try:
        return str(ip_address(ip)) if ip else None
    except ValueError:
        return None
