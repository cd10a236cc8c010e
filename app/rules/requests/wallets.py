"""Apple Pay and Google Pay of a merchant account: what is offered to storefronts, and what is accepted. Pure."""

from typing import Any

from app.rules.refusal import RefusalCode, RefusalError
from app.rules.requests.storefront import is_blank
from app.store.tables import MerchantAccount
from gateway_client.errors import InvalidRequestError
from gateway_client.wallets import Wallet, check_validation_url

VALIDATION_URL = "data.applePay.validationUrl"
_NAMES = {Wallet.APPLE_PAY: "Apple Pay", Wallet.GOOGLE_PAY: "Google Pay"}


def wallets_of(account: MerchantAccount) -> dict[str, dict[str, Any]]:
    """Return what storefronts need to show the wallets of an account, without those that it does not offer.

    Google's script needs Google's names of the gateway and of the merchant there: without both, it has no recipient to
    encrypt for.
    """
    found: dict[str, dict[str, Any]] = {}
    if account.apple_pay:
        found["applePay"] = {"merchantName": account.name}
    if account.google_pay and account.google_pay_gateway and account.google_pay_gateway_merchant:
        found["googlePay"] = {
            "environment": "TEST" if account.test_project else "PRODUCTION",
            "gateway": account.google_pay_gateway,
            "gatewayMerchantId": account.google_pay_gateway_merchant,
            "merchantId": account.google_pay_merchant,
            "merchantName": account.name,
        }
    return found


def check_wallet_accepted(account: MerchantAccount, wallet: Wallet) -> None:
    """Refuse a wallet that the account does not offer. Raises RefusalError."""
    name = {Wallet.APPLE_PAY: "applePay", Wallet.GOOGLE_PAY: "googlePay"}[wallet]
    if name not in wallets_of(account):
        message = f"This store does not accept {_NAMES[wallet]}: the shopper pays in another way."
        raise RefusalError(RefusalCode.WALLET_NOT_ENABLED, message, f"data.{name}")


def requested_session_url(account: MerchantAccount, data: Any) -> str | None:
    """Return the address for which a storefront requests Apple's merchant session; None: it requests none.

    Raises RefusalError for any address but Apple's own, and where the account does not offer Apple Pay.
    """
    apple_pay = data.get("applePay") if isinstance(data, dict) else None
    if is_blank(apple_pay):
        return None
    check_wallet_accepted(account, Wallet.APPLE_PAY)
    url = apple_pay.get("validationUrl") if isinstance(apple_pay, dict) else None
    try:
        return check_validation_url(url if isinstance(url, str) else "")
    except InvalidRequestError as error:
        message = f"`{VALIDATION_URL}` is invalid: it must be {error.limit}."
        raise RefusalError(RefusalCode.INVALID_DATA, message, VALIDATION_URL) from error
