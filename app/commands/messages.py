"""Messages and amounts on the command line, in the words and with the separators of the English pages."""

from decimal import Decimal

from app.commands.terminal import plain
from app.i18n.messages import Value
from app.i18n.translation import ENGLISH, translation

_ENGLISH = translation(ENGLISH)


def message_text(message: Value) -> str:
    """Return a message on one line, as the English pages show it."""
    return plain(_ENGLISH.plain_text(message))


def amount_text(amount: Decimal, currency: str | None) -> str:
    """Return an amount as the English pages show it: ``1,234.50 UAH``."""
    return plain(_ENGLISH.money(amount, currency))


def figure_text(amount: Decimal, currency: str | None) -> str:
    """Return an amount where its currency stands elsewhere: ``1,234.50``."""
    return plain(_ENGLISH.amount(amount, currency))
