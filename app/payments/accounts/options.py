"""What a store can choose of a merchant account: each option defined once, for pages and the command line. Pure.

What is refused is refused when it is chosen, never when somebody pays.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum, auto
from types import MappingProxyType

from app.db.tables import MerchantAccount, ProductsForm
from app.gateway.models import ReceiptDelivery, Sector
from app.i18n.messages import LazyMessage
from app.payments.accounts import readers
from app.payments.accounts.readers import ThreeDs
from app.payments.requests.payment import LONGEST_TEMPLATE, PLACEHOLDERS

DEFAULT_CURRENCIES = ("UAH",)
PCI_DSS_CONFIRMED = "pci_dss_confirmed"


class Form(Enum):
    """How an option is given: as a text, one of several, several texts, a number, or yes and no."""

    TEXT = auto()
    CHOICE = auto()
    TEXTS = auto()
    NUMBER = auto()
    SWITCH = auto()


_ONE_OF = LazyMessage("Choose one of those that are offered.")


@dataclass(frozen=True, slots=True)
class Option:
    """Something to be chosen. ``name`` is the column that holds it, ``help`` one line on what it does.

    ``rule`` is what people are told of a value that it cannot have. ``read`` makes of one text what the column holds,
    and raises ValueError. ``choices``: each value with what it is called. ``may_be_empty``: an empty text gives the
    option back to its default. ``needs_one``: of several texts, there must be one.
    """

    name: str
    title: LazyMessage
    help: LazyMessage
    form: Form = Form.TEXT
    rule: LazyMessage = _ONE_OF
    read: Callable[[str], object] = str
    choices: Mapping[str, LazyMessage] = field(default_factory=dict)
    may_be_empty: bool = False
    needs_one: bool = False

    def of(self, account: MerchantAccount) -> object:
        """Return how it stands."""
        if self.name == PCI_DSS_CONFIRMED:
            return account.pci_dss_confirmed_at is not None
        return getattr(account, self.name)


_AN_AMOUNT = LazyMessage("Write an amount above zero, like 1234.50, or nothing: then nothing is paid out.")
_AN_ADDRESS = LazyMessage(
    "Write a whole https address without a query, like https://api.example.com. Plain http is for this machine and "
    "private networks only."
)

_A_NAME_AT_GOOGLE = LazyMessage("Write 1 to 100 characters without spaces.")

OPTIONS: Mapping[str, Option] = MappingProxyType(
    {
        each.name: each
        for each in (
            Option(
                "name",
                LazyMessage("Name"),
                LazyMessage("What staff call the account."),
                rule=LazyMessage("A name has 1 to %(most)s printable characters.", most=readers.LONGEST_NAME),
                read=readers.name,
            ),
            Option(
                "test_project",
                LazyMessage("Test project"),
                LazyMessage("Whether the keys are those of a test project, with which no real money moves."),
                Form.SWITCH,
            ),
            Option(
                "enabled",
                LazyMessage("Switched on"),
                LazyMessage("Whether payments are begun with it. Those begun are always finished."),
                Form.SWITCH,
            ),
            Option(
                "currencies",
                LazyMessage("Currencies"),
                LazyMessage("The currencies that the account takes."),
                Form.TEXTS,
                rule=LazyMessage("Write currencies as three letters each, like UAH; at least one."),
                read=readers.currency,
                needs_one=True,
            ),
            Option(
                "storefront_origins",
                LazyMessage("Storefronts"),
                LazyMessage("The sites that shoppers may be sent back to, like https://example.com."),
                Form.TEXTS,
                rule=LazyMessage("Write storefronts without a path, like https://shop.example.com."),
                read=readers.origin,
            ),
            Option(
                "shop_name",
                LazyMessage("Name of the shop"),
                LazyMessage("What the pages that shoppers see call the shop."),
                rule=LazyMessage("A name has 1 to %(most)s printable characters.", most=readers.LONGEST_SHOP_NAME),
                read=readers.shop_name,
                may_be_empty=True,
            ),
            Option(
                "shop_logo",
                LazyMessage("Logo of the shop"),
                LazyMessage("The address of an image, shown at the top of these pages, at most 48 pixels high."),
                rule=LazyMessage("Write the whole https address of an image, like https://cdn.example.com/logo.svg."),
                read=readers.image_address,
                may_be_empty=True,
            ),
            Option(
                "shop_color",
                LazyMessage("Colour of the shop"),
                LazyMessage("The colour of the buttons on these pages."),
                rule=LazyMessage("Write a colour as six digits behind a #, like #1a2b3c."),
                read=readers.color,
                may_be_empty=True,
            ),
            Option(
                "order_timeout",
                LazyMessage("Time to pay"),
                LazyMessage("How many seconds a shopper has to pay."),
                Form.NUMBER,
                rule=LazyMessage("Write a number of seconds, from 1 to a year."),
                read=readers.seconds,
            ),
            Option(
                "names_required",
                LazyMessage("Names are required"),
                LazyMessage("Whether shoppers must give first and last name."),
                Form.SWITCH,
            ),
            Option(
                "cancel_older",
                LazyMessage("Older pages are closed"),
                LazyMessage("Whether a new attempt to pay closes older unpaid payment pages of the same checkout."),
                Form.SWITCH,
            ),
            Option(
                "sector",
                LazyMessage("Sector"),
                LazyMessage("What the merchant sells, where the gateway asks more of shoppers."),
                Form.CHOICE,
                read=readers.one_of(Sector),
                choices={
                    "general": LazyMessage("General"),
                    "gambling": LazyMessage("Gambling"),
                    "microfinance": LazyMessage("Microfinance"),
                },
            ),
            Option(
                "merchant_mcc",
                LazyMessage("Merchant category code"),
                LazyMessage("The four digits that are told with each payment; usually none."),
                rule=LazyMessage("A merchant category code is four digits, like 5411."),
                read=readers.category,
                may_be_empty=True,
            ),
            Option(
                "description_template",
                LazyMessage("Description"),
                LazyMessage(
                    "What payments are called at the gateway, with %(placeholders)s in it.",
                    placeholders=", ".join(f"{{{name}}}" for name in PLACEHOLDERS),
                ),
                rule=LazyMessage(
                    "A description is one line of at most %(most)s characters. In braces only words can stand that the "
                    "help names.",
                    most=LONGEST_TEMPLATE,
                ),
                read=readers.template,
                may_be_empty=True,
            ),
            Option(
                "products",
                LazyMessage("Products"),
                LazyMessage("Whether and how the gateway is told what is sold."),
                Form.CHOICE,
                read=readers.one_of(ProductsForm),
                choices={
                    "none": LazyMessage("Not told"),
                    "plain": LazyMessage("Told"),
                    "fiscal": LazyMessage("Told for fiscal receipts"),
                },
            ),
            Option(
                "receipt_delivery",
                LazyMessage("Fiscal receipts"),
                LazyMessage("How shoppers get fiscal receipts."),
                Form.CHOICE,
                read=readers.one_of(ReceiptDelivery),
                choices={
                    "email": LazyMessage("By e-mail"),
                    "sms": LazyMessage("By text message"),
                    "viber": LazyMessage("By Viber"),
                    "none": LazyMessage("Not at all"),
                },
                may_be_empty=True,
            ),
            Option(
                "order_3ds_bypass",
                LazyMessage("3-D Secure"),
                LazyMessage("When the bank of the card is asked for 3-D Secure."),
                Form.CHOICE,
                read=readers.one_of(ThreeDs),
                choices={
                    "supported": LazyMessage("When the card’s bank can"),
                    "always": LazyMessage("Always"),
                    "never": LazyMessage("Never"),
                },
            ),
            Option(
                PCI_DSS_CONFIRMED,
                LazyMessage("Cards in the storefront"),
                LazyMessage(
                    "Confirms that the store is PCI DSS certified to take cards in its storefront, or takes that back."
                ),
                Form.SWITCH,
            ),
            Option(
                "saved_cards",
                LazyMessage("Saved cards"),
                LazyMessage("Whether customers who agree have their card kept at the gateway for the next time."),
                Form.SWITCH,
            ),
            Option(
                "subscriptions",
                LazyMessage("Subscriptions (provisional)"),
                LazyMessage("Whether storefronts may begin subscriptions, which the gateway charges by itself."),
                Form.SWITCH,
            ),
            Option(
                "payouts",
                LazyMessage("Payouts to cards"),
                LazyMessage("Whether staff may pay money out to cards, within both limits below."),
                Form.SWITCH,
            ),
            Option(
                "payout_most",
                LazyMessage("Most per payout"),
                LazyMessage("The largest payout, in the account's first currency."),
                rule=_AN_AMOUNT,
                read=readers.amount,
                may_be_empty=True,
            ),
            Option(
                "payout_most_a_day",
                LazyMessage("Most per day"),
                LazyMessage("The most that is paid out in any 24 hours, in the account's first currency."),
                rule=_AN_AMOUNT,
                read=readers.amount,
                may_be_empty=True,
            ),
            Option(
                "payout_staff",
                LazyMessage("Who may pay out"),
                LazyMessage(
                    "The e-mail addresses, in Saleor, of the staff who may pay out on the app's pages. They need the "
                    "permission “Handle payments” in Saleor as well."
                ),
                Form.TEXTS,
                rule=LazyMessage("Write e-mail addresses, like olena@example.com."),
                read=readers.email,
            ),
            Option(
                "apple_pay",
                LazyMessage("Apple Pay"),
                LazyMessage("Whether storefronts offer Apple Pay. The gateway must have allowed it."),
                Form.SWITCH,
            ),
            Option(
                "apple_pay_association",
                LazyMessage("Apple’s domain file"),
                LazyMessage(
                    "The file that Apple wants to find at the storefront’s domain, as the gateway gave it to you."
                ),
                rule=LazyMessage(
                    "Paste the whole file: at most %(most)s Latin characters.", most=readers.LONGEST_ASSOCIATION
                ),
                read=readers.association,
                may_be_empty=True,
            ),
            Option(
                "google_pay",
                LazyMessage("Google Pay"),
                LazyMessage("Whether storefronts offer Google Pay. The gateway must have allowed it."),
                Form.SWITCH,
            ),
            Option(
                "google_pay_gateway",
                LazyMessage("Gateway at Google"),
                LazyMessage("What Google calls the gateway: its support tells. Google Pay is not offered without it."),
                rule=_A_NAME_AT_GOOGLE,
                read=readers.name_at_google,
                may_be_empty=True,
            ),
            Option(
                "google_pay_gateway_merchant",
                LazyMessage("Merchant at the gateway"),
                LazyMessage("What the gateway calls the merchant for Google. Google Pay is not offered without it."),
                rule=_A_NAME_AT_GOOGLE,
                read=readers.name_at_google,
                may_be_empty=True,
            ),
            Option(
                "google_pay_merchant",
                LazyMessage("Merchant at Google"),
                LazyMessage("What Google calls the merchant, from its Pay console; not needed for tests."),
                rule=_A_NAME_AT_GOOGLE,
                read=readers.name_at_google,
                may_be_empty=True,
            ),
            Option(
                "reconcile_at",
                LazyMessage("Hour of comparison"),
                LazyMessage("At which hour of the day (UTC) the account's books are compared with the gateway's."),
                Form.NUMBER,
                rule=LazyMessage("Write an hour of the day in UTC, from 0 to 23."),
                read=readers.hour,
            ),
            Option(
                "balances_url",
                LazyMessage("Address of balances"),
                LazyMessage("Where balances are asked for, when not where payments are made."),
                rule=_AN_ADDRESS,
                read=readers.address,
                may_be_empty=True,
            ),
            Option(
                "register_url",
                LazyMessage("Address of registers"),
                LazyMessage("Where registers are asked for, when not where payments are made."),
                rule=_AN_ADDRESS,
                read=readers.address,
                may_be_empty=True,
            ),
        )
    }
)
