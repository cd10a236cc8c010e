"""The texts of each alert, in English: what happened, what it means for the money, what to do."""

from collections.abc import Mapping
from dataclasses import dataclass

from app.core.alerts import AlertKind
from app.i18n.messages import gettext_noop
from app.reports.alerts.open_alerts import Alert


@dataclass(frozen=True, slots=True)
class AlertText:
    """The text of an alert; ``command`` does what is needed, or shows more, in the operator's terminal.

    ``{account}`` in ``command`` stands for the merchant account's id.
    """

    title: str
    meaning: str
    remedy: str
    command: str


ALERT_TEXTS: Mapping[AlertKind, AlertText] = {
    AlertKind.INSTALLATION: AlertText(
        gettext_noop("The installation is not complete"),
        gettext_noop(
            "Saleor has not confirmed the app's new token. Payments may be refused, and may not be reported to Saleor."
        ),
        gettext_noop(
            "Activate the app in the Dashboard, under Extensions. If it is not there, install it; if it is active, "
            "remove it and install it again: nothing is lost."
        ),
        "saleor-gateway installations list",
    ),
    AlertKind.UNAUTHORISED: AlertText(
        gettext_noop("Saleor does not give the app access"),
        gettext_noop(
            "The app was removed from this Saleor or switched off there. No payment is reported to Saleor until "
            "the app is back. If Saleor says that it was removed, open payment pages are closed."
        ),
        gettext_noop(
            "Activate the app in the Dashboard, under Extensions. If it is not there, install it; if it is active, "
            "remove it and install it again: nothing is lost."
        ),
        "saleor-gateway installations list",
    ),
    AlertKind.UNOPENED: AlertText(
        gettext_noop("The keys of a merchant account cannot be decrypted"),
        gettext_noop(
            "Nobody can pay with this account, nothing can be charged, refunded or looked up, and notifications "
            "from the gateway are not accepted. Nothing was lost."
        ),
        gettext_noop(
            "The operator must put the missing key back into the secret key file and restart the app. If the key "
            "is gone for good, replace the account's keys in the app."
        ),
        "saleor-gateway accounts set {account} --rotate-secrets",
    ),
    AlertKind.KEYS: AlertText(
        gettext_noop("The gateway rejects the keys of a merchant account"),
        gettext_noop("Nobody can pay with this account, and nothing can be charged or refunded. Nothing was lost."),
        gettext_noop("Find the account's keys in the gateway's merchant portal, and replace them in the app."),
        "saleor-gateway accounts set {account} --rotate-secrets",
    ),
    AlertKind.ADDRESS: AlertText(
        gettext_noop("The server at an account's address is not the gateway"),
        gettext_noop(
            "A firewall or proxy in between refuses the app's requests, or the address is wrong. What was "
            "requested may or may not have been done: the app keeps looking it up."
        ),
        gettext_noop(
            "The operator has to let the app's requests through, or correct the account's address. Then test the "
            "account."
        ),
        "saleor-gateway accounts check {account}",
    ),
    AlertKind.TURNED_AWAY: AlertText(
        gettext_noop("Shoppers are turned away, and none gets through"),
        gettext_noop("Nobody can pay in this sales channel with this app. Nothing was charged."),
        gettext_noop(
            "Correct what the reason names: a channel that was renamed or has no merchant account, an amount or a "
            "currency that the account does not take, a storefront's address, the account's keys. This closes when a "
            "shopper gets through. If it is meant to be so, mark it as reviewed."
        ),
        "saleor-gateway channels check",
    ),
    AlertKind.UNDELIVERED: AlertText(
        gettext_noop("Saleor does not accept the app's reports"),
        gettext_noop(
            "The money has moved as the gateway says, but orders in Saleor do not show it yet. The app keeps "
            "reporting it by itself."
        ),
        gettext_noop(
            "Check whether Saleor's API responds and whether the app is active there. Then try again at once, or wait."
        ),
        "saleor-gateway events list --waiting",
    ),
    AlertKind.REFUSED: AlertText(
        gettext_noop("Saleor has permanently refused an event"),
        gettext_noop(
            "The money has moved at the gateway, but Saleor's records do not show it: they differ until somebody "
            "corrects them."
        ),
        gettext_noop(
            "Compare the order in Saleor with the payment's page. Correct in Saleor what the page names, then "
            "report it again."
        ),
        "saleor-gateway events list --refused",
    ),
    AlertKind.DISPUTE: AlertText(
        gettext_noop("A payment or payout is disputed"),
        gettext_noop(
            "The bank may take the money back, or has already done so. The disputed amount is not offered for refund."
        ),
        gettext_noop(
            "Respond to the dispute in the merchant portal before its deadline. Mark it here when it has ended."
        ),
        "saleor-gateway payments list --problems",
    ),
    AlertKind.MISMATCH: AlertText(
        gettext_noop("The gateway's report does not match the request"),
        gettext_noop(
            "Saleor may not show all of this money, or may show another amount. What the merchant portal shows is "
            "correct."
        ),
        gettext_noop(
            "Compare it with the merchant portal, and refund there what should not have been paid. Then mark "
            "it here. If its outcome stays open although the portal shows one, tell it to the app operator, with the "
            "gateway order ID. If shoppers pay the gateway's fee on top of the amount, test the account's keys under "
            "“Set up”: the page offers the option for it, and these payments are then booked."
        ),
        "saleor-gateway payments list --problems",
    ),
    AlertKind.DIFFERENCE: AlertText(
        gettext_noop("The gateway's records and ours differ"),
        gettext_noop(
            "The app has compared them, has looked the order up at the gateway, and they still differ. What "
            "the app can repair by itself is not listed here."
        ),
        gettext_noop(
            "Compare them with the merchant portal. What it shows counts: correct what is wrong, then mark it here."
        ),
        "saleor-gateway reconcile history",
    ),
    AlertKind.NOT_OWED: AlertText(
        gettext_noop("Money was paid that is not owed"),
        gettext_noop(
            "The order was cancelled, has expired or was returned, its checkout is gone, or its total fell, while "
            "the customer was paying; or nobody completed the checkout after it was paid. The payment is recorded in "
            "Saleor, but no order needs the money. Or it was paid in a test project: there is no money."
        ),
        gettext_noop(
            "Open the payment: it says what happened. Refund what is not owed, or cancel its authorization; or "
            "place an order for it, then mark it here."
        ),
        "saleor-gateway payments list --problems",
    ),
    AlertKind.NOT_PAID: AlertText(
        gettext_noop("An order is not paid, although it counted on a payment"),
        gettext_noop(
            "The order was placed while its payment was pending, and the payment failed; or the total rose while the "
            "customer was paying."
        ),
        gettext_noop(
            "Do not ship the order before it is paid: request what is left from the customer, or cancel the order."
        ),
        "saleor-gateway payments list --problems",
    ),
    AlertKind.PAID_TWICE: AlertText(
        gettext_noop("The same checkout or order was paid twice"),
        gettext_noop(
            "Two payments cover one checkout or order. Both are recorded in Saleor, and the customer has paid too much."
        ),
        gettext_noop(
            "Open both payments: each names the other. Refund one of them, or cancel its authorization if it is "
            "only authorized."
        ),
        "saleor-gateway payments list --problems",
    ),
    AlertKind.CHARGED_ON: AlertText(
        gettext_noop("A subscription goes on that should perhaps end"),
        gettext_noop(
            "Its customer was deleted in Saleor, or it was begun in a test project and its channel takes real money "
            "now. The gateway charges the card until the subscription is cancelled. Saleor cannot end it."
        ),
        gettext_noop("Open the payment, and cancel the subscription there. If it is to go on, mark it here."),
        "saleor-gateway payments list --problems",
    ),
    AlertKind.WAITING: AlertText(
        gettext_noop("The outcome of a payment, refund or payout is unknown"),
        gettext_noop("The money may or may not have moved. Do not request it again: that could move it twice."),
        gettext_noop(
            "Look it up now. If the gateway still gives no outcome, check the merchant portal, and tell the app "
            "operator the outcome that it shows, with the gateway order ID."
        ),
        "saleor-gateway payments list --problems",
    ),
    AlertKind.SEALED: AlertText(
        gettext_noop("Notifications from the gateway cannot be decrypted"),
        gettext_noop(
            "What they report is looked up at the gateway instead, so no money is missed; but Saleor learns of it late."
        ),
        gettext_noop("The operator must put the missing key back into the secret key file and restart the app."),
        "saleor-gateway notifications list --failed",
    ),
    AlertKind.FAILED: AlertText(
        gettext_noop("Notifications from the gateway could not be processed"),
        gettext_noop("They are stored and tried again. Until then, Saleor may not know of the payments they report."),
        gettext_noop("The operator can find the reason in the app's log."),
        "saleor-gateway notifications replay --failed",
    ),
    AlertKind.UNREADABLE: AlertText(
        gettext_noop("The gateway has sent something that the app does not understand"),
        gettext_noop("It is signed by the gateway and stored. Payments are looked up, so none is missed."),
        gettext_noop(
            "Compare the day's payments with the merchant portal. If it happens again, the app needs a newer version."
        ),
        "saleor-gateway notifications list",
    ),
    AlertKind.UNMATCHED: AlertText(
        gettext_noop("The gateway reports orders that this app did not create"),
        gettext_noop(
            "Somebody may have paid at this point of sale in another way. Saleor does not know of that money."
        ),
        gettext_noop(
            "Look the order up in the merchant portal. If another system uses this point of sale too, nothing is wrong."
        ),
        "saleor-gateway notifications list --unmatched",
    ),
    AlertKind.UNKNOWN_ORDERS: AlertText(
        gettext_noop("The gateway's records have paid orders that this app did not create"),
        gettext_noop(
            "Somebody has paid at this point of sale in another way. Saleor does not know of that money, and it "
            "cannot be refunded from Saleor."
        ),
        gettext_noop(
            "Look the orders up in the merchant portal. If another system uses this point of sale too, nothing "
            "is wrong: mark them here."
        ),
        "saleor-gateway reconcile history --account {account}",
    ),
    AlertKind.NOT_COMPARED: AlertText(
        gettext_noop("An account's records could not be compared with the gateway's"),
        gettext_noop(
            "What the gateway has done since then without notifying the app may be missing in Saleor. The "
            "comparison is tried again each night, and nothing is left out."
        ),
        gettext_noop("See what the gateway said. Then compare the records again at once, or wait for the next night."),
        "saleor-gateway reconcile run --account {account}",
    ),
}


def command_for(alert: Alert) -> str:
    """Return the command for an alert, ready to be pasted: an account's id consists of letters and digits."""
    return ALERT_TEXTS[alert.what].command.format(account=alert.account_id or "ACCOUNT")
