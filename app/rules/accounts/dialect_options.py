"""The options about what an account's gateway decides where the interface leaves it open (``Dialect``). Pure.

Each but the first may be left to the preset.
"""

from collections.abc import Mapping
from enum import StrEnum

from app.i18n.messages import LazyMessage
from app.rules.accounts import readers
from app.rules.accounts.option import Form, Option
from gateway_client.dialect import CaptureEndpoint, DialectName, Inclusion, PartCapture, TaxesForm, ThreeDs

_AS_ABOVE = LazyMessage("As assumed above")
_SENDING = {Inclusion.SENT.value: LazyMessage("It is sent"), Inclusion.NOT_SENT.value: LazyMessage("It is not sent")}
THREE_DS = {
    ThreeDs.SUPPORTED.value: LazyMessage("When the card’s bank supports it"),
    ThreeDs.ALWAYS.value: LazyMessage("Always"),
    ThreeDs.NEVER.value: LazyMessage("Never"),
}


def _choice(
    name: str, title: LazyMessage, text: LazyMessage, kind: type[StrEnum], choices: Mapping[str, LazyMessage]
) -> Option:
    """Return one decision, which may be left to the preset."""
    read = readers.one_of(kind)
    return Option(name, title, text, Form.CHOICE, read=read, choices=choices, may_be_empty=True, empty=_AS_ABOVE)


DIALECT_OPTIONS = (
    Option(
        "dialect",
        LazyMessage("What is assumed of the gateway"),
        LazyMessage(
            "What the app may assume of this gateway: only what the interface says, or also what is publicly "
            "known of gateways with this interface."
        ),
        Form.CHOICE,
        read=readers.one_of(DialectName),
        choices={"interface": LazyMessage("Only the interface"), "public": LazyMessage("What is publicly known")},
    ),
    _choice(
        "capture_endpoint",
        LazyMessage("Charging authorized money"),
        LazyMessage("Where a charge that is not split is sent: to the interface's address, or to /api/v1/capture."),
        CaptureEndpoint,
        {
            "split": LazyMessage("The interface’s address"),
            "plain": LazyMessage("An address of its own"),
        },
    ),
    _choice(
        "part_capture",
        LazyMessage("After a partial charge"),
        LazyMessage("What becomes of the rest of an authorization when a part of it is charged."),
        PartCapture,
        {
            "keeps_rest": LazyMessage("It stays authorized"),
            "releases_rest": LazyMessage("It is released"),
        },
    ),
    _choice(
        "hold_split",
        LazyMessage("Split of an authorization"),
        LazyMessage("Whether sub-merchants are named when money is authorized, or only when it is charged."),
        Inclusion,
        _SENDING,
    ),
    _choice(
        "operation_products",
        LazyMessage("Products of charges and refunds"),
        LazyMessage("Whether products sent for fiscal receipts are repeated with charges and refunds."),
        Inclusion,
        _SENDING,
    ),
    _choice(
        "full_refund_amount",
        LazyMessage("Amount of a full refund"),
        LazyMessage(
            "Whether the amount is sent when everything is refunded at once. Without it, the gateway refunds what is "
            "left of the payment, also if somebody has just refunded a part elsewhere."
        ),
        Inclusion,
        _SENDING,
    ),
    _choice(
        "product_taxes",
        LazyMessage("Taxes of products"),
        LazyMessage("How the taxes of products are written for fiscal receipts."),
        TaxesForm,
        {"object": LazyMessage("One tax"), "list": LazyMessage("A list of taxes")},
    ),
    _choice(
        "page_language",
        LazyMessage("Language of the payment page"),
        LazyMessage("Whether the shopper's language is sent for the gateway's page."),
        Inclusion,
        _SENDING,
    ),
    _choice(
        "payout_3ds_bypass",
        LazyMessage("3-D Secure of payouts"),
        LazyMessage("When 3-D Secure is requested for payouts to cards."),
        ThreeDs,
        THREE_DS,
    ),
    _choice(
        "payout_identity",
        LazyMessage("Identity of recipients"),
        LazyMessage(
            "Whether a recipient's middle name and tax ID are sent with payouts as the customer's; then merchants in "
            "the gambling and microfinance sectors must give a date of birth, and above 30000 UAH a tax ID."
        ),
        Inclusion,
        _SENDING,
    ),
    Option(
        "time_zone",
        LazyMessage("Time zone of the gateway"),
        LazyMessage("The zone of the times in the gateway's records, which name none; UTC unless you enter one."),
        rule=LazyMessage("Enter a time zone, like Europe/Kyiv, or nothing: then it is UTC."),
        read=readers.time_zone,
        may_be_empty=True,
        empty=_AS_ABOVE,
    ),
)
