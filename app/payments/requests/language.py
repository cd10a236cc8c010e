"""In which language the shopper is spoken to."""

# The languages of the gateway's payment page (gateway facts, 5: customer_lang). Ours are uk and en.
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


def base_language(*wishes: str | None) -> str:
    """Return the language of the first wish that names one: lower case, without region; "en" when none does.

    Saleor writes ``UK`` or ``PT_BR``, browsers write ``uk-UA``.
    """
    for staff_request in wishes:
        if staff_request:
            return staff_request.replace("_", "-").partition("-")[0].lower()
    return "en"


def page_language(language: str) -> str | None:
    """Return the gateway's word for a language of its payment page; None lets the gateway choose."""
    word = language.upper()
    return word if word in PAGE_LANGUAGES else None
