"""What a storefront and its shopper read when a payment fails for a reason of ours: a code and a sentence. Pure."""

DECLINED = "DECLINED"
TRY_AGAIN = "TRY_AGAIN"
BUSY = "BUSY"
STORE_UNAVAILABLE = "STORE_UNAVAILABLE"

_WORDS = {
    DECLINED: {
        "en": "The payment did not go through. Please try again.",
        "uk": "Оплата не пройшла. Спробуйте ще раз.",
    },
    BUSY: {
        "en": "The payment service is busy, and nothing was charged. Please try again in a minute.",
        "uk": "Платіжний сервіс зараз перевантажений, гроші не списано. Спробуйте ще раз за хвилину.",
    },
    STORE_UNAVAILABLE: {
        "en": "The store cannot take this payment at the moment, and nothing was charged. Please contact the store.",
        "uk": "Магазин зараз не може прийняти цю оплату, гроші не списано. Зверніться до магазину.",
    },
    "ALREADY_PAID": {
        "en": "This is paid already. Please do not pay again.",
        "uk": "Це вже сплачено. Будь ласка, не платіть ще раз.",
    },
    "PAYMENT_IN_PROGRESS": {
        "en": "Your payment is being made at the bank. Please wait a moment, and do not pay again.",
        "uk": "Ваш платіж уже опрацьовує банк. Зачекайте хвилинку й не платіть ще раз.",
    },
    TRY_AGAIN: {
        "en": "The payment page could not be opened, and nothing was charged. Please try again.",
        "uk": "Не вдалося відкрити сторінку оплати, гроші не списано. Спробуйте ще раз.",
    },
}


def shopper_words(code: str | None, language: str) -> str:
    """Return the sentence for a code of ours, else that the payment did not go through."""
    words = _WORDS.get(code or DECLINED, _WORDS[DECLINED])
    return words.get(language, words["en"])
