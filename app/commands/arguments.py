"""Parses arguments that operators type.

Amounts, alone or with the sub-merchant from whom they are taken; and periods: UTC days, or moments with their zone.
"""

from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime, timedelta, tzinfo
from decimal import Decimal

from app.commands.failure import CommandFailed
from app.i18n.currencies import read_amount_in
from integration_base.amounts import NotAnAmountError


def read_amount(text: str, currency: str) -> Decimal:
    """Return an amount, typed as in the Dashboard. Raises CommandFailed."""
    try:
        return read_amount_in(currency, text)
    except NotAnAmountError:
        raise build_amount_error(text) from None


def build_amount_error(text: str) -> CommandFailed:
    """Return the error for text that is not an amount."""
    return CommandFailed(f"{text!r} is not an amount", status=2)


def read_shares(given: Sequence[str], names: Mapping[str, str], currency: str) -> dict[str, Decimal]:
    """Return amounts by sub-merchant from ``SUB_MERCHANT=AMOUNT``; ``names`` are by UUID. Raises CommandFailed."""
    by_name = {name.casefold(): who for who, name in names.items()}
    shares: dict[str, Decimal] = {}
    for text in given:
        who, _, number = text.rpartition("=")
        try:
            amount = read_amount(number, currency)
        except CommandFailed:
            raise CommandFailed(f"{text!r} must be SUB_MERCHANT=AMOUNT", status=2) from None
        who = by_name.get(who.strip().casefold(), who.strip())
        if not who or who in shares:
            raise CommandFailed(f"{text!r} must be SUB_MERCHANT=AMOUNT, once for each sub-merchant", status=2)
        shares[who] = amount
    return shares


def require_request_name(name: str | None) -> str | None:
    """Return the name of a request. Raises CommandFailed if it is empty, as a script's variable that is not set: by
    it nobody could recognize the request when it is repeated.
    """
    if name is not None and not name.strip():
        raise CommandFailed("--request: the name is empty", status=2)
    return name


MAX_NUMBER = 2**63 - 1
"""The largest number that a row of a database can have; SQLite's driver fails at a larger one."""


def build_backwards_error() -> CommandFailed:
    """Return the error for a period that ends before it starts."""
    return CommandFailed("the period ends before it starts", status=2)


def read_moment(text: str | None, flag: str, *, last: bool = False, zone: tzinfo | None = None) -> datetime | None:
    """Return the start of a day, or with ``last`` its end; a moment is returned in UTC.

    A moment is in ``zone`` if it names none; without ``zone`` it must name one. Raises CommandFailed.
    """
    if text is None:
        return None
    try:
        is_day = _is_day(text)
        moment = datetime.fromisoformat(text)
        if moment.tzinfo is None and (is_day or zone is not None):
            moment = moment.replace(tzinfo=UTC if is_day else zone)
        if moment.tzinfo is None:
            raise CommandFailed(f"{flag}: {text!r} has no time zone: write it like 2026-11-21T12:00+02:00", status=2)
        return moment.astimezone(UTC) + (timedelta(days=1) if is_day and last else timedelta())
    except (ValueError, OverflowError):  # no day of ours, or one beyond the calendar
        raise CommandFailed(f"{flag}: {text!r} is not a date: write it like 2026-11-21", status=2) from None


def _is_day(text: str) -> bool:
    try:
        date.fromisoformat(text)
    except ValueError:
        return False
    return True
