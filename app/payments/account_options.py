"""What a store can choose of a merchant account, checked: texts become what the account's row holds. Pure.

The command line and every page read options here. What is refused is refused when it is chosen, never when somebody
pays.
"""

import re
from collections.abc import Callable, Mapping
from datetime import datetime
from enum import StrEnum
from types import MappingProxyType

from app.gateway.errors import InvalidRequest
from app.gateway.hosts import safe_base_url
from app.gateway.models import ReceiptDelivery, Sector
from app.ledger.tables import ProductsForm
from app.payments.description import TemplateError, check_template


class ThreeDs(StrEnum):
    """When the bank of the card is asked for 3-D Secure (gateway facts, 5: order_3ds_bypass)."""

    SUPPORTED = "supported"  # when the card's bank can
    ALWAYS = "always"
    NEVER = "never"


class OptionRefusedError(ValueError):
    """A value that an option cannot have. ``name`` is the option's, ``words`` tell what it can be."""

    def __init__(self, name: str, words: str) -> None:
        super().__init__(f"{name}: {words}")
        self.name = name
        self.words = words


def choices(kind: type[StrEnum]) -> str:
    """Return the words of which one can be chosen, for a help text."""
    return ", ".join(kind)


def read_option(name: str, given: str) -> str | None:
    """Return what the account's column ``name`` holds for a text.

    An empty text gives an option back to its default, where ``None`` is one. Raises OptionRefusedError, and KeyError
    when no option is called so.
    """
    text = given.strip()
    if not text and name in MAY_BE_EMPTY:
        return None
    try:
        return _READERS[name](text)
    except ValueError as exc:
        raise OptionRefusedError(name, str(exc)) from None


def read_options(given: Mapping[str, str | bool | None], now: datetime) -> dict[str, object]:
    """Return the columns to be set, by name; what is ``None`` is left as it is. Raises OptionRefusedError.

    Texts are read by ``read_option``. ``cancel_older`` is a choice as it stands; ``pci_dss_confirmed`` is kept as the
    moment of the confirmation, or as none when it is taken back.
    """
    columns: dict[str, object] = {}
    for name, value in given.items():
        if name == "pci_dss_confirmed" and value is not None:
            columns["pci_dss_confirmed_at"] = now if value else None
        elif isinstance(value, str):
            columns[name] = read_option(name, value)
        elif value is not None:
            columns[name] = value
    return columns


def _one_of(kind: type[StrEnum]) -> Callable[[str], str]:
    def read(text: str) -> str:
        try:
            return kind(text.lower())
        except ValueError:
            raise ValueError(f"{text!r} is not one of {choices(kind)}") from None

    return read


def _category(text: str) -> str:
    if not re.fullmatch(r"[0-9]{4}", text):
        raise ValueError(f"{text!r} is not a merchant category code: write four digits, like 5411")
    return text


def _template(text: str) -> str:
    try:
        check_template(text)
    except TemplateError as exc:
        raise ValueError(str(exc)) from None
    return text


def _address(text: str) -> str:
    try:
        return safe_base_url("url", text)
    except InvalidRequest as exc:
        raise ValueError(f"{exc.limit}; given: {exc.given}") from None


_READERS: Mapping[str, Callable[[str], str]] = MappingProxyType(
    {
        "sector": _one_of(Sector),
        "merchant_mcc": _category,
        "description_template": _template,
        "products": _one_of(ProductsForm),
        "receipt_delivery": _one_of(ReceiptDelivery),
        "order_3ds_bypass": _one_of(ThreeDs),
        "balances_url": _address,
        "register_url": _address,
    }
)
MAY_BE_EMPTY = frozenset({"merchant_mcc", "description_template", "receipt_delivery", "balances_url", "register_url"})
