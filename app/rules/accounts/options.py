"""The options of a merchant account: each defined once, for pages and the command line. Pure.

An invalid value is rejected when it is chosen, never when a shopper pays.
"""

from collections.abc import Mapping
from types import MappingProxyType

from app.i18n.messages import LazyMessage
from app.rules.accounts import readers
from app.rules.accounts.dialect_options import DIALECT_OPTIONS, THREE_DS
from app.rules.accounts.option import PCI_DSS_CONFIRMED, Form, Option
from app.rules.requests.description import LONGEST_TEMPLATE, PLACEHOLDERS
from app.store.tables import ProductsForm
from gateway_client.dialect import ThreeDs
from gateway_client.models import ReceiptDelivery, Sector
from gateway_client.models.details import MOST_ATTRIBUTES

DEFAULT_CURRENCIES = ("UAH",)


_AN_AMOUNT = LazyMessage("Enter an amount above zero, like 1234.50, or nothing: then nothing is paid out.")
_AN_ADDRESS = LazyMessage(
    "Enter a complete https address without a query, like https://api.example.com. Plain http is for this "
    "machine and private networks only."
)

_A_NAME_AT_GOOGLE = LazyMessage("Enter 1 to 100 characters without spaces.")

OPTIONS: Mapping[str, Option] = MappingProxyType(
    {
        option.name: option
        for option in (
            Option(
                "name",
                LazyMessage("Name"),
                LazyMessage("The name that staff see for the account."),
                rule=LazyMessage("The name must have 1 to %(most)s printable characters.", most=readers.LONGEST_NAME),
                read=readers.name,
            ),
            Option(
                "test_project",
                LazyMessage("Test project"),
                LazyMessage(
                    "Whether the keys belong to a test project, in which no real money moves. This applies to all "
                    "payments of the account, also earlier ones: connect a live project as another account."
                ),
                Form.SWITCH,
            ),
            Option(
                "enabled",
                LazyMessage("Switched on"),
                LazyMessage("Whether payments can be started with it. Payments that have started are always finished."),
                Form.SWITCH,
            ),
            Option(
                "currencies",
                LazyMessage("Currencies"),
                LazyMessage("The currencies that the account accepts."),
                Form.TEXTS,
                rule=LazyMessage("Enter currencies as three letters each, like UAH; at least one."),
                read=readers.currency,
                needs_one=True,
            ),
            Option(
                "storefront_origins",
                LazyMessage("Storefronts"),
                LazyMessage("The sites that shoppers may be sent back to, like https://example.com."),
                Form.TEXTS,
                rule=LazyMessage("Enter storefronts without a path, like https://shop.example.com."),
                read=readers.origin,
            ),
            Option(
                "shop_name",
                LazyMessage("Name of the shop"),
                LazyMessage("The name of the shop on the pages that shoppers see."),
                rule=LazyMessage(
                    "The name must have 1 to %(most)s printable characters.", most=readers.LONGEST_SHOP_NAME
                ),
                read=readers.shop_name,
                may_be_empty=True,
            ),
            Option(
                "shop_logo",
                LazyMessage("Logo of the shop"),
                LazyMessage("The address of an image, shown at the top of these pages, at most 48 pixels high."),
                rule=LazyMessage(
                    "Enter the complete https address of an image, like https://cdn.example.com/logo.svg."
                ),
                read=readers.image_address,
                may_be_empty=True,
            ),
            Option(
                "shop_color",
                LazyMessage("Colour of the shop"),
                LazyMessage("The colour of the buttons on these pages."),
                rule=LazyMessage("Enter a colour as six digits after a #, like #1a2b3c."),
                read=readers.color,
                may_be_empty=True,
            ),
            Option(
                "order_timeout",
                LazyMessage("Time to pay"),
                LazyMessage("How many seconds a shopper has to pay."),
                Form.NUMBER,
                rule=LazyMessage("Enter a number of seconds, from 1 to a year."),
                read=readers.seconds,
            ),
            Option(
                "names_required",
                LazyMessage("Names are required"),
                LazyMessage("Whether shoppers must give their first and last name."),
                Form.SWITCH,
            ),
            Option(
                "payer_fee_percent",
                LazyMessage("Fee paid by the payer"),
                LazyMessage(
                    "If the gateway adds its fee to what shoppers pay: the most that it adds, in percent. Then a "
                    "payment of up to that much more is charged as requested. Leave it empty if the store pays the fee."
                ),
                rule=LazyMessage("Enter a percentage above 0, up to 25, like 1.5, or nothing."),
                form=Form.DECIMAL,
                read=readers.fee_percent,
                may_be_empty=True,
            ),
            Option(
                "cancel_older",
                LazyMessage("Close older pages"),
                LazyMessage("Whether a new payment attempt closes older unpaid payment pages of the same checkout."),
                Form.SWITCH,
            ),
            Option(
                "sector",
                LazyMessage("Sector"),
                LazyMessage("What the merchant sells, where the gateway requires more data from shoppers."),
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
                LazyMessage("The four digits that are sent with each payment; usually none."),
                rule=LazyMessage("A merchant category code is four digits, like 5411."),
                read=readers.category,
                may_be_empty=True,
            ),
            Option(
                "description_template",
                LazyMessage("Description"),
                LazyMessage(
                    "The description of payments at the gateway, which can contain %(placeholders)s.",
                    placeholders=", ".join(f"{{{name}}}" for name in PLACEHOLDERS),
                ),
                rule=LazyMessage(
                    "A description is one line of at most %(most)s characters. Only the words that the help "
                    "names can be in braces.",
                    most=LONGEST_TEMPLATE,
                ),
                read=readers.template,
                may_be_empty=True,
            ),
            Option(
                "attributes",
                LazyMessage("Attributes"),
                LazyMessage(
                    "What staff can search payments for in the merchant portal besides Saleor's references, one in "
                    "each line: a key, =, and a text that can contain %(placeholders)s, or {metadata.KEY} of the "
                    "checkout or order.",
                    placeholders=", ".join(f"{{{name}}}" for name in PLACEHOLDERS),
                ),
                Form.LINES,
                rule=LazyMessage(
                    "Enter at most %(most)s attributes like delivery={metadata.delivery}, with Latin or Cyrillic "
                    "letters. Only the words that the help names can be in braces.",
                    most=MOST_ATTRIBUTES,
                ),
                read=readers.attribute,
                most=MOST_ATTRIBUTES,
            ),
            Option(
                "validation_url",
                LazyMessage("Address for preflight requests"),
                LazyMessage("An address of yours that the gateway asks before a payment or payout; usually none."),
                rule=LazyMessage("Enter a complete https address, like https://shop.example.com/payments/check."),
                read=readers.preflight_address,
                may_be_empty=True,
            ),
            Option(
                "products",
                LazyMessage("Products"),
                LazyMessage("Whether and how the list of products sold is sent to the gateway."),
                Form.CHOICE,
                read=readers.one_of(ProductsForm),
                choices={
                    "none": LazyMessage("Not sent"),
                    "plain": LazyMessage("Sent"),
                    "fiscal": LazyMessage("Sent for fiscal receipts"),
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
                LazyMessage("When 3-D Secure is requested from the bank of the card."),
                Form.CHOICE,
                read=readers.one_of(ThreeDs),
                choices=THREE_DS,
            ),
            Option(
                PCI_DSS_CONFIRMED,
                LazyMessage("Cards in the storefront"),
                LazyMessage(
                    "Confirms that the store is PCI DSS certified to take cards in its storefront, or withdraws "
                    "that confirmation."
                ),
                Form.SWITCH,
            ),
            Option(
                "saved_cards",
                LazyMessage("Saved cards"),
                LazyMessage("Whether the gateway saves the cards of customers who agree, for the next time."),
                Form.SWITCH,
            ),
            Option(
                "subscriptions",
                LazyMessage("Subscriptions (provisional)"),
                LazyMessage("Whether storefronts may start subscriptions, which the gateway charges by itself."),
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
                LazyMessage("Limit per payout"),
                LazyMessage("The largest payout, in the account's first currency."),
                rule=_AN_AMOUNT,
                form=Form.AMOUNT,
                may_be_empty=True,
            ),
            Option(
                "payout_most_a_day",
                LazyMessage("Limit per day"),
                LazyMessage("The most that can be paid out in any 24 hours, in the account's first currency."),
                rule=_AN_AMOUNT,
                form=Form.AMOUNT,
                may_be_empty=True,
            ),
            Option(
                "payout_staff",
                LazyMessage("Who may pay out"),
                LazyMessage(
                    "The e-mail addresses, in Saleor, of the staff who may pay out on the app's pages. They also "
                    "need the permission “Handle payments” in Saleor."
                ),
                Form.TEXTS,
                rule=LazyMessage("Enter e-mail addresses, like olena@example.com."),
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
                LazyMessage("The file that Apple expects at the storefront’s domain, as the gateway gave it to you."),
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
                LazyMessage(
                    "The gateway's name at Google: ask the gateway's support. Google Pay is not offered without it."
                ),
                rule=_A_NAME_AT_GOOGLE,
                read=readers.google_identifier,
                may_be_empty=True,
            ),
            Option(
                "google_pay_gateway_merchant",
                LazyMessage("Merchant at the gateway"),
                LazyMessage("The merchant's name at the gateway, for Google. Google Pay is not offered without it."),
                rule=_A_NAME_AT_GOOGLE,
                read=readers.google_identifier,
                may_be_empty=True,
            ),
            Option(
                "google_pay_merchant",
                LazyMessage("Merchant at Google"),
                LazyMessage("The merchant's name at Google, from its Pay console; not needed for tests."),
                rule=_A_NAME_AT_GOOGLE,
                read=readers.google_identifier,
                may_be_empty=True,
            ),
            Option(
                "reconcile_at",
                LazyMessage("Hour of comparison"),
                LazyMessage(
                    "The hour of the day (UTC) at which the account's records are compared with the gateway's."
                ),
                Form.NUMBER,
                rule=LazyMessage("Enter an hour of the day in UTC, from 0 to 23."),
                read=readers.hour,
            ),
            Option(
                "other_orders",
                LazyMessage("Orders of other shops"),
                LazyMessage(
                    "The order ids that another shop uses at the same point of sale, like woo-*, where * stands for "
                    "any characters. What this app has not created and has such an id is left out when records are "
                    "compared."
                ),
                Form.TEXTS,
                rule=LazyMessage("Enter order ids of at most 32 characters, like woo-*; more than * alone."),
                read=readers.order_pattern,
            ),
            *DIALECT_OPTIONS,
            Option(
                "balances_url",
                LazyMessage("Address for balances"),
                LazyMessage("Where balances are requested, if not at the address for payments."),
                rule=_AN_ADDRESS,
                read=readers.address,
                may_be_empty=True,
            ),
            Option(
                "register_url",
                LazyMessage("Address for registers"),
                LazyMessage("Where registers are requested, if not at the address for payments."),
                rule=_AN_ADDRESS,
                read=readers.address,
                may_be_empty=True,
            ),
        )
    }
)
