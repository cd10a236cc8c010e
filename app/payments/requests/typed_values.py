"""What a shopper has typed about themselves holds no card number. Pure.

Only what a shopper types is refused. An order number, or a number in the address of a storefront's page, can look
like a card's by chance: no payment is refused for that, and what is kept of it is sealed.
"""

from collections.abc import Iterable, Mapping

from app.payments.cards.card_numbers import FEWEST_DIGITS, holds_card_number
from app.payments.core.refusal import RefusalCode, RefusalError

# Phone numbers have up to 15 digits (ITU E.164), and some countries' tax ids nearly as many: every tenth of those
# passes the check by chance.
_FEWEST_IN_NUMBERS = 16
_NAMES = ("data.customer.firstName", "data.customer.lastName", "data.customer.patronymic")
_NUMBERS = frozenset({"data.customer.phone", "data.customer.taxId"})
_WORDS = {
    "en": "A card number does not belong into your contact details. Please correct them.",
    "uk": "Номер картки не має стояти у ваших контактних даних. Будь ласка, виправте їх.",
}


def check_typed(typed: Mapping[str, str | None], language: str) -> None:
    """Refuse a card number in what the shopper typed, by where the storefront can pass it. Raises RefusalError.

    The parts of a name are also read together: a number can be spread over them.
    """
    for field, text in typed.items():
        fewest = _FEWEST_IN_NUMBERS if field in _NUMBERS else FEWEST_DIGITS
        if text and holds_card_number(text, fewest=fewest):
            raise _refusal(field, language)
    if holds_card_number(" ".join(_present(typed.get(field) for field in _NAMES))):
        raise _refusal(_NAMES[0], language)


def _present(texts: Iterable[str | None]) -> Iterable[str]:
    return (text for text in texts if text)


def _refusal(field: str, language: str) -> RefusalError:
    return RefusalError(
        RefusalCode.CARD_DATA_REFUSED,
        "What the shopper typed about themselves holds a card number: nothing of it was kept.",
        field,
        shopper=_WORDS.get(language, _WORDS["en"]),
    )
