"""What was given for options of a merchant account, read all at once: what is wrong is told of each. Pure."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import TypeVar

from app.payments.accounts.options import OPTIONS, PCI_DSS_CONFIRMED

T = TypeVar("T")


class OptionsRefusedError(ValueError):
    """Values that options cannot have. ``refused``: for each option, by its name, what it can be."""

    def __init__(self, refused: Mapping[str, str]) -> None:
        super().__init__("; ".join(f"{name}: {words}" for name, words in refused.items()))
        self.refused = dict(refused)


def all_read(*reads: Callable[[], T]) -> list[T]:
    """Return what each of them reads. Raises OptionsRefusedError with what all of them refuse, at once."""
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


Given = str | bool | Sequence[str] | None
"""What somebody gave for an option: a text, several, yes or no; None for what stays as it is."""


def read_option(name: str, given: Given) -> object:
    """Return what the account's column ``name`` holds for what was given, which is not None.

    An empty text gives an option back to its default, where ``None`` is one. Raises OptionsRefusedError, and KeyError
    when no option is called so.
    """
    option = OPTIONS[name]
    if isinstance(given, bool):
        return given
    try:
        if isinstance(given, str):
            return None if not given.strip() and option.may_be_empty else option.read(given.strip())
        several = list(dict.fromkeys(option.read(each.strip()) for each in given or ()))
    except ValueError as exc:
        raise OptionsRefusedError({name: str(exc)}) from None
    if option.needs_one and not several:
        raise OptionsRefusedError({name: "give at least one"})
    return several


def read_options(given: Mapping[str, Given], now: datetime) -> dict[str, object]:
    """Return the columns to be set, by name; what is ``None`` is left as it is. Raises OptionsRefusedError.

    The confirmation of PCI DSS is kept as the moment of it, or as none when it is taken back.
    """
    names = [name for name, value in given.items() if value is not None]
    values = all_read(*(partial(read_option, name, given[name]) for name in names))
    columns = dict(zip(names, values, strict=True))
    if PCI_DSS_CONFIRMED in columns:
        columns["pci_dss_confirmed_at"] = now if columns.pop(PCI_DSS_CONFIRMED) else None
    return columns
