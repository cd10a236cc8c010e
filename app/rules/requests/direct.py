"""From Saleor's webhook to the request to the gateway for a card from the storefront, or a saved one. Pure."""

from dataclasses import dataclass

from app.rules.cards.card_form import PaymentInstrument
from app.rules.refusal import RefusalCode, RefusalError
from app.rules.requests.payment import Terms
from app.rules.requests.storefront import StorefrontData, parse_ip
from app.rules.requests.wallets import check_wallet_accepted, wallets_of
from app.store.tables import MerchantAccount, SavedCard
from gateway_client.models.details import BrowserFingerprint
from gateway_client.models.payments import DirectPayment
from gateway_client.wallets import Wallet


@dataclass(frozen=True, slots=True)
class DirectPlan:
    """A direct payment, ready to be recorded (without the card) and then requested (with it)."""

    terms: Terms
    request: DirectPayment
    saved_card: SavedCard | None = None
    wallet: Wallet | None = None


@dataclass(frozen=True, slots=True)
class Browser:
    """The fingerprint of the shopper's browser that the gateway requires, and its IP address."""

    fingerprint: BrowserFingerprint
    ip: str


def check_sealed_accepted(account: MerchantAccount) -> None:
    """Refuse sealed card data without opening it where the account accepts neither cards nor wallets.

    Raises RefusalError.
    """
    if not wallets_of(account):
        _check_cards_accepted(account)


def check_instrument_accepted(account: MerchantAccount, instrument: PaymentInstrument) -> None:
    """Refuse a wallet that the account does not offer, and cards unless it may accept them. Raises RefusalError."""
    if instrument.wallet is None:
        _check_cards_accepted(account)
    else:
        check_wallet_accepted(account, instrument.wallet)


def _check_cards_accepted(account: MerchantAccount) -> None:
    # The store must have confirmed that it may accept cards (PCI DSS).
    if account.pci_dss_confirmed_at is None:
        message = "This store does not accept cards in the storefront: the shopper pays on the payment page."
        raise RefusalError(RefusalCode.CARDS_NOT_ENABLED, message, "data.card")


def check_one_card(data: StorefrontData) -> None:
    """Refuse data with two cards for one payment. Raises RefusalError."""
    if data.card is not None and data.saved_card_id is not None:
        message = "`data.card` and `data.savedCardId` are two cards: pass only one of them."
        raise RefusalError(RefusalCode.INVALID_DATA, message, "data.savedCardId")


def browser_of(terms: Terms, caller_ip: str | None) -> Browser:
    """Return the shopper's browser (gateway interface, Browser fingerprint). Raises RefusalError.

    ``caller_ip`` is the IP address from which Saleor was called. For a storefront that renders on a server it is the
    server's, so an address in the storefront's data takes precedence.
    """
    data = terms.data
    if data.browser_fingerprint is None:
        message = "`data.browserFingerprint` is missing: the bank needs it to decide about 3-D Secure."
        raise RefusalError(RefusalCode.INVALID_DATA, message, "data.browserFingerprint")
    stated_ip = data.customer.ip or data.browser_fingerprint.ip_address
    ip = stated_ip or parse_ip(caller_ip)
    if ip is None:
        message = "The shopper's IP address is not known: the storefront can pass `data.customer.ip`."
        raise RefusalError(RefusalCode.MISSING_IP, message, "data.customer.ip")
    members = data.browser_fingerprint.model_dump(exclude={"ip_address"})
    return Browser(BrowserFingerprint(**members, ip_address=ip), ip)


def plan_direct(
    terms: Terms, browser: Browser, instrument: PaymentInstrument, saved_card: SavedCard | None = None
) -> DirectPlan:
    """Return the direct payment with ``instrument`` (gateway interface, 1a). Raises RefusalError."""
    request = terms.build_request(
        DirectPayment,
        customer_ip=browser.ip,
        customer_referrer=terms.data.customer.referrer,
        browser_fingerprint=browser.fingerprint,
        **instrument.members,
    )
    return DirectPlan(terms, request, saved_card, instrument.wallet)
