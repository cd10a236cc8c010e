"""The texts of the page with the payment button, in the languages that a shopper chooses from."""

from collections.abc import Mapping

TEXTS: Mapping[str, Mapping[str, str]] = {
    "en": {
        "shop": "Demo shop",
        "front": "Shop",
        "staff": "What staff see",
        "checkout": "Checkout",
        "part": "Pay only {amount} now",
        "whole": "Pay everything that is left",
    },
    "uk": {
        "shop": "Демонстраційний магазин",
        "front": "Магазин",
        "staff": "Що бачить персонал",
        "checkout": "Оформлення замовлення",
        "part": "Сплатити зараз лише {amount}",
        "whole": "Сплатити все, що лишилося",
    },
}
