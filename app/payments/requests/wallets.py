"""Apple Pay and Google Pay of a merchant account: what of them is offered, and whether one is taken. Pure."""

from typing import Any

from app.db.tables import MerchantAccount
from app.gateway.errors import InvalidRequestError
from app.gateway.wallets import Wallet, validation_url
from app.payments.core.refusal import RefusalCode, RefusalError

VALIDATION_URL = "data.applePay.validationUrl"
_CALLED = {Wallet.APPLE_PAY: "Apple Pay", Wallet.GOOGLE_PAY: "Google Pay"}


def wallets_of(account: MerchantAccount) -> dict[str, dict[str, Any]]:
    """Return what storefronts need to show the wallets of an account; a wallet that is not offered is not in it.

    Google's script wants to know under which name Google knows the gateway, and the merchant there: without both, it
    has nobody to encrypt for.
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


def check_wallet_taken(account: MerchantAccount, wallet: Wallet) -> None:
    """Refuse a wallet that the account does not offer. Raises RefusalError."""
    name = {Wallet.APPLE_PAY: "applePay", Wallet.GOOGLE_PAY: "googlePay"}[wallet]
    if name not in wallets_of(account):
        words = f"This store does not take {_CALLED[wallet]}: the shopper pays in another way."
        raise RefusalError(RefusalCode.WALLET_NOT_ENABLED, words, f"data.{name}")


def asked_session(account: MerchantAccount, data: Any) -> str | None:
    """Return the address for which a storefront wants Apple's merchant session; None: it asks for none.

    Raises RefusalError: for any address but Apple's own, and where the account does not offer Apple Pay.
    """
    question = data.get("applePay") if isinstance(data, dict) else None
    if question is None:
        return None
    check_wallet_taken(account, Wallet.APPLE_PAY)
    url = question.get("validationUrl") if isinstance(question, dict) else None
    try:
        return validation_url(url if isinstance(url, str) else "")
    except InvalidRequestError as error:
        words = f"`{VALIDATION_URL}` is not right: it must be {error.limit}."
        raise RefusalError(RefusalCode.INVALID_DATA, words, VALIDATION_URL) from error
