"""Every message of the Dashboard's pages: those in templates and code, and words of the rooms below."""

from pathlib import Path

from babel.messages.extract import extract_from_file

import app.dashboard
from app.dashboard.rendering import TEMPLATES
from app.payments.accounts.channels import Missing
from app.payments.accounts.check import Lack, Trouble
from app.payments.accounts.options import OPTIONS
from app.payments.attention.words import WORDS
from app.payments.standing import Standing

_CODE = Path(app.dashboard.__file__).parent


def messages() -> set[str]:
    """Return all messages in English."""
    found = [*extracted("jinja2", TEMPLATES, "*.html", "_"), *extracted("python", _CODE, "*.py", "marked")]
    of_attention = [words for each in WORDS.values() for words in (each.title, each.meaning, each.remedy)]
    words = [*Standing, *Trouble, *Lack, *Missing]
    options = (message for option in OPTIONS.values() for message in option.messages)
    return {*found, *(each.value for each in words), *options, *of_attention}


def extracted(method: str, folder: Path, pattern: str, keyword: str) -> list[str]:
    """Return what stands in calls of ``keyword`` in the files of a folder."""
    options = {"trimmed": "false"}
    return [
        str(message)
        for file in sorted(folder.rglob(pattern))
        for _, message, _, _ in extract_from_file(method, file, keywords={keyword: None}, options=options)
    ]
