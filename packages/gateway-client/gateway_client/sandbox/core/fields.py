"""The types of fields in requests (gateway interface, Conventions and Endpoints).

They accept exactly what the interface specifies: an amount is a JSON number, a text is a JSON string.
"""

import ipaddress
import re
from datetime import date, datetime
from decimal import Decimal
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit
from uuid import UUID

from babel import Locale
from babel.core import get_global
from pydantic import AfterValidator, BeforeValidator, Field

from gateway_client.sandbox.core.refusals import InvalidFieldsError
from gateway_client.sandbox.settings import Behaviour

# CLDR has the codes of ISO 3166-1 alpha-2, and also these, which are not countries there.
_NON_COUNTRY_CODES = frozenset(
    ["AC", "CP", "CQ", "DG", "EA", "EU", "EZ", "IC", "QO", "TA", "UN", "XA", "XB", "XK", "ZZ"]
)
COUNTRIES = frozenset(str(code) for code in Locale("en").territories if len(str(code)) == 2) - _NON_COUNTRY_CODES
# Currencies in use today, and those of ISO 4217 that are not in use as money (XTS is for tests).
CURRENCIES = frozenset(
    code for used in get_global("territory_currencies").values() for code, _first, last, _tender in used if last is None
)
_MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d{1,6})?)?(Z|[+-]\d\d:?\d\d)")
_DEFAULT_PORTS = {"http": 80, "https": 443}


def _validate_web_address(value: str) -> str:
    try:
        parts = urlsplit(value)
        valid = parts.scheme in _DEFAULT_PORTS and bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:
        valid = False
    if not valid:
        raise ValueError("must be an absolute http or https address")
    return value


def _parse_number(value: object) -> object:
    # Numbers of a body are int or Decimal (integration_base.exact_json); true, false and text are not numbers.
    if isinstance(value, bool) or not isinstance(value, int | Decimal):
        raise ValueError("must be a number")  # noqa: TRY004 - pydantic turns only a ValueError into a violation
    return Decimal(value)


def _code_validator(codes: frozenset[str], standard: str) -> AfterValidator:
    def check(value: str) -> str:
        if value not in codes:
            raise ValueError(f"must be a code of {standard}")
        return value

    return AfterValidator(check)


def _parse_uuid(value: object) -> UUID:
    try:
        if isinstance(value, str | UUID):
            return UUID(str(value))
    except ValueError:
        pass
    raise ValueError("must be a UUID")


def _validate_day(value: str) -> str:
    try:
        if re.fullmatch(r"\d{4}-\d\d-\d\d", value):
            date.fromisoformat(value)
            return value
    except ValueError:
        pass
    raise ValueError("must be a date, yyyy-MM-dd")


def _parse_moment(value: object) -> datetime:
    try:
        if isinstance(value, str) and _MOMENT.fullmatch(value):
            return datetime.fromisoformat(value)
    except ValueError:
        pass
    raise ValueError("must be ISO 8601 with an offset")


Number = Annotated[Any, BeforeValidator(_parse_number)]
Amount = Annotated[
    Decimal,
    BeforeValidator(_parse_number),
    Field(gt=0, max_digits=14, decimal_places=2),
    AfterValidator(lambda amount: amount.quantize(Decimal("0.01"))),
]
Currency = Annotated[str, _code_validator(CURRENCIES, "ISO 4217")]
Country = Annotated[str, _code_validator(COUNTRIES, "ISO 3166-1 alpha-2")]
Day = Annotated[str, AfterValidator(_validate_day)]
Moment = Annotated[datetime, BeforeValidator(_parse_moment)]
Identifier = Annotated[UUID, BeforeValidator(_parse_uuid)]
WebAddress = Annotated[str, AfterValidator(_validate_web_address)]
Text = Annotated[str, Field(min_length=1)]
ShortOrderId = Annotated[str, Field(min_length=1, max_length=32)]
Comment = Annotated[str, Field(max_length=2048)]
ReceiptDelivery = Literal["email", "sms", "viber", "none"]
CardNumber = Annotated[str, Field(pattern=r"^\d{12,19}$")]


def is_loopback(url: str) -> bool:
    """Whether an address is on this machine, judging by its text alone (no name is resolved)."""
    try:
        host = urlsplit(url).hostname or ""
    except ValueError:
        return False
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def check_webhook_port(behaviour: Behaviour, server_url: str | None) -> None:
    """Check that a webhook target has a port that was arranged (gateway interface, Delivery).

    Raises InvalidFieldsError.
    """
    if server_url is None or (behaviour.webhook_ports_on_this_machine and is_loopback(server_url)):
        return
    parts = urlsplit(server_url)
    if (parts.port or _DEFAULT_PORTS[parts.scheme]) not in behaviour.webhook_ports:
        ports = ", ".join(str(port) for port in sorted(behaviour.webhook_ports))
        raise InvalidFieldsError([("server_url", f"must have one of the ports {ports}")])
