"""The language of a payment: of the gateway's page and of messages to the shopper. Pure."""

import re

from app.i18n.translation import usual_code

# The languages of the gateway's payment page (gateway facts, 5: customer_lang).
PAGE_LANGUAGES = frozenset(
    [
        "EN",
        "RU",
        "ES",
        "PL",
        "AR",
        "AZ",
        "BG",
        "CS",
        "DA",
        "DE",
        "EL",
        "FA",
        "FI",
        "FR",
        "HE",
        "HI",
        "HR",
        "HU",
        "IT",
        "JA",
        "KO",
        "NL",
        "NO",
        "PT",
        "RO",
        "SK",
        "SL",
        "SV",
        "TH",
        "TR",
        "UK",
        "ZH",
    ]
)
_LANGUAGE = re.compile(r"\s*([A-Za-z]{2,3})(?![A-Za-z0-9])")


def base_language(*languages: str | None) -> str:
    """Return the first language that can be read: lower case, without script, region and variant; "en" when none can.

    Saleor writes ``UK`` or ``PT_BR``, browsers ``uk-UA``, ``es-419`` or ``zh-Hans-CN``, systems ``uk_UA.UTF-8``. Of
    several codes of a language it is the usual one.
    """
    for language in languages:
        if found := _LANGUAGE.match(language or ""):
            return usual_code(found[1].lower())
    return "en"


def read_page_language(language: str) -> str | None:
    """Return a language that somebody names for a payment page, as ``base_language`` does; None if there is none."""
    found = _LANGUAGE.match(language)
    code = usual_code(found[1].lower()) if found else ""
    return code if page_language(code) else None


def page_language(language: str) -> str | None:
    """Return the gateway's code for a language of its payment page; None lets the gateway choose."""
    code = language.upper()
    return code if code in PAGE_LANGUAGES else None
