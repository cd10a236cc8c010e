"""What the interface leaves open and a gateway nevertheless decides, in one place: its dialect.

The interface is enough (laws of money, 16): every call works at a gateway that knows only what it says
(``INTERFACE``). Whatever else is assumed is a field of ``Dialect``; ``PUBLIC`` has what is publicly documented or seen
at gateways of this interface (gateway facts). An account chooses one of the two and may change single fields.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from enum import StrEnum
from types import MappingProxyType
from typing import Any
from zoneinfo import ZoneInfo

# Calls that the interface does not have (gateway facts, 6). What uses them is off until an account switches it on.
CAPTURE_PATH = "/api/v1/capture"
APPLE_PAY_SESSION_PATH = "/api/v1/applepay/session"
TOKENIZE_PATH = "/api/v1/tokenization/tokenize"


def subscription_end_path(recurring_id: str) -> str:
    """Return the path that ends a subscription; the id is quoted already."""
    return f"/api/v1/recurring/{recurring_id}/cancel"


def charge_refund_path(pos_id: str, recurring_id: str, payment_id: str) -> str:
    """Return the path that refunds a later charge of a subscription; the ids are quoted already."""
    return f"/api/v1/pos/{pos_id}/recurring/{recurring_id}/payments/{payment_id}/refund"


class DialectName(StrEnum):
    """The names of the two dialects from which an account chooses."""

    INTERFACE = "interface"
    PUBLIC = "public"


class CaptureEndpoint(StrEnum):
    """Where a capture without split is sent: the interface has an endpoint for captures with a split only."""

    SPLIT = "split"
    PLAIN = "plain"


class Inclusion(StrEnum):
    """Whether something optional is sent."""

    SENT = "sent"
    NOT_SENT = "not_sent"


class PartCapture(StrEnum):
    """What becomes of the rest of a reservation when a part of it is captured."""

    KEEPS_REST = "keeps_rest"
    RELEASES_REST = "releases_rest"


class ThreeDs(StrEnum):
    """When 3-D Secure is requested (``order_3ds_bypass``). The interface names ``always`` only."""

    SUPPORTED = "supported"  # when the card's bank supports it
    ALWAYS = "always"
    NEVER = "never"


class TaxesForm(StrEnum):
    """How the taxes of a fiscal product are written."""

    OBJECT = "object"
    LIST = "list"


@dataclass(frozen=True, slots=True)
class Dialect:
    """The decisions of one gateway.

    ``hold_split``: whether ``split`` is sent with a reservation, which may be divided when it is captured in any
    case. ``operation_products``: whether ``products`` are sent with captures and refunds. ``full_refund_amount``:
    whether ``refund_amount`` is named when everything is refunded. ``page_language``: whether ``customer_lang`` is
    sent, whose values the interface does not show. ``order_3ds_bypass`` and ``payout_3ds_bypass`` are sent where a
    request does not choose. ``payout_identity``: whether the recipient's ``customer_patronym`` and
    ``customer_tax_id`` are sent with payouts, and required of some merchants. ``time_zone``: of times without one,
    an IANA name.
    """

    capture_endpoint: CaptureEndpoint = CaptureEndpoint.SPLIT
    part_capture: PartCapture = PartCapture.KEEPS_REST
    hold_split: Inclusion = Inclusion.NOT_SENT
    operation_products: Inclusion = Inclusion.NOT_SENT
    full_refund_amount: Inclusion = Inclusion.NOT_SENT
    page_language: Inclusion = Inclusion.NOT_SENT
    order_3ds_bypass: ThreeDs = ThreeDs.ALWAYS
    payout_3ds_bypass: ThreeDs = ThreeDs.ALWAYS
    payout_identity: Inclusion = Inclusion.NOT_SENT
    product_taxes: TaxesForm = TaxesForm.OBJECT
    time_zone: str = "UTC"

    @classmethod
    def of(cls, preset: str, changes: Mapping[str, str | None]) -> "Dialect":
        """Return a preset with single fields changed; None: as the preset has it. Raises ValueError and KeyError."""
        known = DIALECTS[preset]
        types = {field.name: type(getattr(known, field.name)) for field in fields(cls)}
        return replace(known, **{name: types[name](value) for name, value in changes.items() if value is not None})

    @property
    def zone(self) -> ZoneInfo:
        """The zone of times without one."""
        return ZoneInfo(self.time_zone)

    @property
    def capture_path(self) -> str:
        """The path of a capture without split."""
        return CAPTURE_PATH if self.capture_endpoint is CaptureEndpoint.PLAIN else "/api/v1/split/capture"

    def write_hold(self, members: dict[str, Any]) -> dict[str, Any]:
        """Return the members of a reservation as this gateway reads them."""
        return members if self.hold_split is Inclusion.SENT else _without(members, "split")

    def write_payout(self, members: dict[str, Any]) -> dict[str, Any]:
        """Return the members of a payout as this gateway reads them."""
        if self.payout_identity is Inclusion.SENT:
            return members
        return _without(members, "customer_patronym", "customer_tax_id")

    def write_operation(self, members: dict[str, Any]) -> dict[str, Any]:
        """Return the members of a capture or refund as this gateway reads them."""
        return members if self.operation_products is Inclusion.SENT else _without(members, "products")

    def write(self, members: dict[str, Any]) -> dict[str, Any]:
        """Return the members of any request as this gateway reads them."""
        if self.page_language is Inclusion.NOT_SENT:
            members = _without(members, "customer_lang")
        if self.product_taxes is TaxesForm.LIST:
            members = _with_listed_taxes(members)
        return members


def _without(members: dict[str, Any], *names: str) -> dict[str, Any]:
    return {key: value for key, value in members.items() if key not in names}


def _with_listed_taxes(members: dict[str, Any]) -> dict[str, Any]:
    written = dict(members)
    if "taxes" in members:
        written["taxes"] = [members["taxes"]]
    for name in ("products", "split"):
        if name in members:
            written[name] = [_with_listed_taxes(item) for item in members[name]]
    return written


INTERFACE = Dialect()
"""Only what the interface says."""

PUBLIC = Dialect(
    capture_endpoint=CaptureEndpoint.PLAIN,
    part_capture=PartCapture.RELEASES_REST,
    hold_split=Inclusion.SENT,
    operation_products=Inclusion.SENT,
    full_refund_amount=Inclusion.SENT,
    page_language=Inclusion.SENT,
    order_3ds_bypass=ThreeDs.SUPPORTED,
    payout_3ds_bypass=ThreeDs.SUPPORTED,
    payout_identity=Inclusion.SENT,
)
"""What is publicly documented or seen (gateway facts, 5, 6, 14)."""

DIALECTS: Mapping[str, Dialect] = MappingProxyType({DialectName.INTERFACE: INTERFACE, DialectName.PUBLIC: PUBLIC})
