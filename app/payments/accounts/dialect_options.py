"""The options about what an account's gateway decides where the interface leaves it open (``gateway.dialect``). Pure.

Each but the first may be left to the preset.
"""

from app.gateway.dialect import CaptureEndpoint, PartCapture, Preset, Sending, TaxesForm, ThreeDs
from app.i18n.messages import LazyMessage
from app.payments.accounts import readers
from app.payments.accounts.option import Form, Option

_AS_ABOVE = LazyMessage("As assumed above")
_SENDING = {Sending.SENT.value: LazyMessage("It is sent"), Sending.NOT_SENT.value: LazyMessage("It is not sent")}
THREE_DS = {
    ThreeDs.SUPPORTED.value: LazyMessage("When the card’s bank supports it"),
    ThreeDs.ALWAYS.value: LazyMessage("Always"),
    ThreeDs.NEVER.value: LazyMessage("Never"),
}

DIALECT_OPTIONS = (
    Option(
        "dialect",
        LazyMessage("What is assumed of the gateway"),
        LazyMessage(
            "What the app may assume of this gateway: only what the interface says, or also what is publicly "
            "known of gateways with this interface."
        ),
        Form.CHOICE,
        read=readers.one_of(Preset),
        choices={"interface": LazyMessage("Only the interface"), "public": LazyMessage("What is publicly known")},
    ),
    Option(
        "capture_endpoint",
        LazyMessage("Charging authorized money"),
        LazyMessage("Where a charge that is not split is sent: to the interface's address, or to /api/v1/capture."),
        Form.CHOICE,
        read=readers.one_of(CaptureEndpoint),
        choices={
            "split": LazyMessage("The interface’s address"),
            "plain": LazyMessage("An address of its own"),
        },
        may_be_empty=True,
        empty=_AS_ABOVE,
    ),
    Option(
        "part_capture",
        LazyMessage("After a partial charge"),
        LazyMessage("What becomes of the rest of an authorization when a part of it is charged."),
        Form.CHOICE,
        read=readers.one_of(PartCapture),
        choices={
            "keeps_rest": LazyMessage("It stays authorized"),
            "releases_rest": LazyMessage("It is released"),
        },
        may_be_empty=True,
        empty=_AS_ABOVE,
    ),
    Option(
        "hold_split",
        LazyMessage("Split of an authorization"),
        LazyMessage("Whether sub-merchants are named when money is authorized, or only when it is charged."),
        Form.CHOICE,
        read=readers.one_of(Sending),
        choices=_SENDING,
        may_be_empty=True,
        empty=_AS_ABOVE,
    ),
    Option(
        "operation_products",
        LazyMessage("Products of charges and refunds"),
        LazyMessage("Whether products sent for fiscal receipts are repeated with charges and refunds."),
        Form.CHOICE,
        read=readers.one_of(Sending),
        choices=_SENDING,
        may_be_empty=True,
        empty=_AS_ABOVE,
    ),
    Option(
        "product_taxes",
        LazyMessage("Taxes of products"),
        LazyMessage("How the taxes of products are written for fiscal receipts."),
        Form.CHOICE,
        read=readers.one_of(TaxesForm),
        choices={"object": LazyMessage("One tax"), "list": LazyMessage("A list of taxes")},
        may_be_empty=True,
        empty=_AS_ABOVE,
    ),
    Option(
        "page_language",
        LazyMessage("Language of the payment page"),
        LazyMessage("Whether the shopper's language is sent for the gateway's page."),
        Form.CHOICE,
        read=readers.one_of(Sending),
        choices=_SENDING,
        may_be_empty=True,
        empty=_AS_ABOVE,
    ),
    Option(
        "payout_3ds_bypass",
        LazyMessage("3-D Secure of payouts"),
        LazyMessage("When 3-D Secure is requested for payouts to cards."),
        Form.CHOICE,
        read=readers.one_of(ThreeDs),
        choices=THREE_DS,
        may_be_empty=True,
        empty=_AS_ABOVE,
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
