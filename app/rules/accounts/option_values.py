"""Parses the values given for a merchant account's options all at once, and reports what is wrong with each. Pure."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import TypeVar

from app.rules.accounts import readers
from app.rules.accounts.option import PCI_DSS_CONFIRMED, Form
from app.rules.accounts.options import OPTIONS

T = TypeVar("T")


class OptionsRefusedError(ValueError):
    """Values that options cannot have. ``refused``: for each option, by name, which values are allowed."""

    def __init__(self, refused: Mapping[str, str]) -> None:
        super().__init__("; ".join(f"{name}: {message}" for name, message in refused.items()))
        self.refused = dict(refused)


def read_all(*reads: Callable[[], T]) -> list[T]:
    """Return the result of each function. Raises one OptionsRefusedError with the errors of all of them."""
    values: list[T] = []
    refused: dict[str, str] = {}
    for read in reads:
        try:
            values.append(read())
        except OptionsRefusedError as error:
            refused |= error.refused
    if refused:
        raise OptionsRefusedError(refused)
    return values


OptionInput = str | bool | Sequence[str] | None
"""The value given for an option: one text, several, yes or no; None leaves the option as it is."""


def first_currency(given: Mapping[str, OptionInput], currency: str) -> str:
    """Return the account's first currency, which its amounts are in, if options are given; it was ``currency``."""
    try:
        chosen = read_option("currencies", given.get("currencies") or (), currency)
    except OptionsRefusedError:
        return currency
    assert isinstance(chosen, list)  # noqa: S101 - of an option that is a list
    return str(chosen[0])


def read_option(name: str, given: OptionInput, currency: str) -> object:
    """Return the value of the account's column ``name`` for the given value, which is not None.

    ``currency`` is that of the account's amounts. An empty text resets an option to its default, where ``None`` is one;
    in a list it is left out. Raises OptionsRefusedError, and KeyError when there is no such option.
    """
    option = OPTIONS[name]
    if isinstance(given, bool):
        return given
    read = partial(readers.amount, currency=currency) if option.form is Form.AMOUNT else option.read
    try:
        if isinstance(given, str):
            return None if not given.strip() and option.may_be_empty else read(given.strip())
        several = list(dict.fromkeys(read(text.strip()) for text in given or () if text.strip()))
    except ValueError as exc:
        raise OptionsRefusedError({name: str(exc)}) from None
    if option.needs_one and not several:
        raise OptionsRefusedError({name: "give at least one"})
    if option.most is not None and len(several) > option.most:
        raise OptionsRefusedError({name: f"give at most {option.most}"})
    return several


def read_options(given: Mapping[str, OptionInput], now: datetime, currency: str) -> dict[str, object]:
    """Return the columns to set, by name; options given as ``None`` are left as they are. Raises OptionsRefusedError.

    ``currency`` is the account's first one, unless others are given. The confirmation of PCI DSS is stored as its
    moment, or as None when it is withdrawn.
    """
    names = [name for name, value in given.items() if value is not None]
    currency = first_currency(given, currency)
    values = read_all(*(partial(read_option, name, given[name], currency) for name in names))
    columns = dict(zip(names, values, strict=True))
    if PCI_DSS_CONFIRMED in columns:
        columns["pci_dss_confirmed_at"] = now if columns.pop(PCI_DSS_CONFIRMED) else None
    return columns
