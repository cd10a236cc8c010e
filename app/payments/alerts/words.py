"""What is said of each item, in English: what happened, what it means for the money, what to do."""

from collections.abc import Mapping
from dataclasses import dataclass

from app.i18n.messages import gettext_noop
from app.payments.alerts.items import AlertKind, Item


@dataclass(frozen=True, slots=True)
class Words:
    """Sentences for whoever has to do something; ``command`` does it, or shows more, in the operator's terminal.

    In ``command`` stands ``{account}`` for the merchant account's id.
    """

    title: str
    meaning: str
    remedy: str
    command: str


WORDS: Mapping[AlertKind, Words] = {
    AlertKind.INSTALLATION: Words(
        gettext_noop("The installation is not complete"),
        gettext_noop(
            "Saleor has not confirmed the app's new token. Payments may be refused, and Saleor may not be told of them."
        ),
        gettext_noop(
            "Activate the app in the Dashboard, under Extensions. If it is active, install it again: nothing gets lost."
        ),
        "saleor-gateway installations list",
    ),
    AlertKind.UNAUTHORISED: Words(
        gettext_noop("Saleor does not let the app in"),
        gettext_noop(
            "The app was removed from this Saleor or switched off there. Saleor is told of no payment until it is back."
        ),
        gettext_noop("Activate the app in the Dashboard, under Extensions, or install it again: nothing gets lost."),
        "saleor-gateway installations list",
    ),
    AlertKind.UNOPENED: Words(
        gettext_noop("The keys of a merchant account cannot be opened"),
        gettext_noop(
            "Nobody can pay with this account, nothing can be charged, refunded or looked up, and notifications of "
            "the gateway are not taken. Nothing was lost."
        ),
        gettext_noop(
            "The operator must put the key back that is missing in the secret key file, and restart the app. If it "
            "is gone for good, replace the account's keys in the app."
        ),
        "saleor-gateway accounts set {account} --rotate-secrets",
    ),
    AlertKind.KEYS: Words(
        gettext_noop("The gateway refuses the keys of a merchant account"),
        gettext_noop("Nobody can pay with this account, and nothing can be charged or refunded. Nothing was lost."),
        gettext_noop("Look in the gateway's merchant portal for the account's keys and replace them in the app."),
        "saleor-gateway accounts set {account} --rotate-secrets",
    ),
    AlertKind.ADDRESS: Words(
        gettext_noop("What answers at an account's address is not the gateway"),
        gettext_noop(
            "A firewall or proxy on the way refuses the app's calls, or the address is wrong. What was asked may "
            "have been done or not: the app goes on looking it up."
        ),
        gettext_noop(
            "The operator lets the app's calls through, or corrects the account's address. Then try the account out."
        ),
        "saleor-gateway accounts check {account}",
    ),
    AlertKind.UNDELIVERED: Words(
        gettext_noop("Saleor does not take what it must be told"),
        gettext_noop(
            "The money has moved as the gateway says, but orders in Saleor do not show it yet. It is told again by "
            "itself."
        ),
        gettext_noop(
            "See whether Saleor's API answers and whether the app is active there. Then try again at once, or wait."
        ),
        "saleor-gateway events list --waiting",
    ),
    AlertKind.REFUSED: Words(
        gettext_noop("Saleor has refused an event for good"),
        gettext_noop(
            "The money has moved at the gateway, and Saleor's books do not show it: they differ until somebody mends "
            "it."
        ),
        gettext_noop(
            "Compare the order in Saleor with the payment's page. Mend in Saleor what it names, then tell it again."
        ),
        "saleor-gateway events list --refused",
    ),
    AlertKind.DISPUTE: Words(
        gettext_noop("A payer disputes a payment"),
        gettext_noop(
            "The payer's bank may take the money back, or has done so. What is disputed is not offered to be refunded."
        ),
        gettext_noop(
            "Answer the dispute in the merchant portal before its time is over. Mark it here when it has ended."
        ),
        "saleor-gateway payments list --problems",
    ),
    AlertKind.MISMATCH: Words(
        gettext_noop("The gateway's word does not agree with what was asked"),
        gettext_noop("Nothing of it is booked in Saleor. What is true is what the merchant portal shows."),
        gettext_noop(
            "Compare the payment with the merchant portal, and refund there what should not have been paid. Settle "
            "by hand what is still open; mark here what has ended."
        ),
        "saleor-gateway payments list --problems",
    ),
    AlertKind.DIFFERENCE: Words(
        gettext_noop("The gateway's books and ours differ"),
        gettext_noop(
            "The app has compared them, has looked the payment up at the gateway, and they differ even so. What can be "
            "repaired by itself is not listed here."
        ),
        gettext_noop(
            "Compare the payment with the merchant portal. What is true there counts: mend it where it is wrong, then "
            "mark it here."
        ),
        "saleor-gateway reconcile history",
    ),
    AlertKind.PAID_TWICE: Words(
        gettext_noop("The same was paid twice"),
        gettext_noop(
            "Two payments cover one checkout or order. Both are booked in Saleor, and the customer has paid too much."
        ),
        gettext_noop(
            "Open both payments: each names the other. Refund one of them, or release it if it is only reserved."
        ),
        "saleor-gateway payments list --problems",
    ),
    AlertKind.WAITING: Words(
        gettext_noop("It is not known how a payment or refund ended"),
        gettext_noop("The money may have moved or not. Do not ask for it again: that could move it twice."),
        gettext_noop(
            "Look it up now. If the gateway still does not tell, look in the merchant portal and settle it by hand."
        ),
        "saleor-gateway payments list --problems",
    ),
    AlertKind.SEALED: Words(
        gettext_noop("Notifications of the gateway cannot be opened"),
        gettext_noop(
            "What they tell is looked up at the gateway instead, so no money is forgotten; but Saleor hears of it late."
        ),
        gettext_noop("The operator must put the key back that is missing in the secret key file, and restart the app."),
        "saleor-gateway notifications list --failed",
    ),
    AlertKind.FAILED: Words(
        gettext_noop("Notifications of the gateway could not be worked on"),
        gettext_noop("They are kept and tried again. Until then Saleor may not know of payments that they tell of."),
        gettext_noop("The operator finds in the app's log why."),
        "saleor-gateway notifications replay --failed",
    ),
    AlertKind.UNREADABLE: Words(
        gettext_noop("The gateway has sent what the app does not understand"),
        gettext_noop("It is signed by the gateway and kept. Payments are looked up, so none is forgotten."),
        gettext_noop(
            "Compare the day's payments with the merchant portal. If it happens again, the app needs a newer version."
        ),
        "saleor-gateway notifications list",
    ),
    AlertKind.UNMATCHED: Words(
        gettext_noop("The gateway tells of orders that this app has not made"),
        gettext_noop(
            "Somebody may have paid at this point of sale by another way. Saleor knows nothing of that money."
        ),
        gettext_noop(
            "Look the order up in the merchant portal. If another system uses the point of sale too, nothing is wrong."
        ),
        "saleor-gateway notifications list --unmatched",
    ),
    AlertKind.UNKNOWN_ORDERS: Words(
        gettext_noop("The gateway's books have paid orders that this app has not made"),
        gettext_noop(
            "Somebody has paid at this point of sale by another way. Saleor knows nothing of that money, nor can it be "
            "refunded from Saleor."
        ),
        gettext_noop(
            "Look the orders up in the merchant portal. If another system uses the point of sale too, nothing is "
            "wrong: mark them here."
        ),
        "saleor-gateway reconcile history --account {account}",
    ),
    AlertKind.NOT_COMPARED: Words(
        gettext_noop("An account's books could not be compared with the gateway's"),
        gettext_noop(
            "What the gateway has done and no notification has told may be missing in Saleor since then. It is tried "
            "again each night, and nothing is left out."
        ),
        gettext_noop("See what the gateway said. Then compare the books again at once, or wait for the next night."),
        "saleor-gateway reconcile run --account {account}",
    ),
}


def command_for(item: Item) -> str:
    """Return the command for an item, ready to be pasted: an account's id is letters and digits."""
    return WORDS[item.what].command.format(account=item.account_id or "ACCOUNT")
