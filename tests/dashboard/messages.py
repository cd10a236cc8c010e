"""Every message of the pages in the Dashboard: in their templates and code, and what they show of other rooms."""

from pathlib import Path

from babel.messages.extract import extract_from_file

import app
from app.dashboard.rendering import TEMPLATES
from app.gateway.statuses import TABLE, Status, explain
from app.payments.accounts.channels import Missing
from app.payments.accounts.check import Lack, Trouble
from app.payments.accounts.options import OPTIONS
from app.payments.alerts.words import WORDS
from app.payments.staff.status import Standing
from app.validation import SENTENCES

_APP = Path(app.__file__).parent
_SAYING = ("payments", "worker")  # rooms whose sentences reach the pages


def messages() -> set[str]:
    """Return all messages in English."""
    found = {
        *extracted("jinja2", TEMPLATES, "*.html", "_"),
        *extracted("python", _APP / "dashboard", "*.py", "gettext_noop"),
    }
    for room in _SAYING:
        for keyword in ("LazyMessage", "gettext_noop"):
            found.update(extracted("python", _APP / room, "*.py", keyword))
    codes = {*TABLE.values(), *(explain(status, None) for status in Status)}
    of_attention = [words for each in WORDS.values() for words in (each.title, each.meaning, each.remedy)]
    words = [*Standing, *Trouble, *Lack, *Missing]
    options = (message for option in OPTIONS.values() for message in option.messages)
    staff = (each.staff.rstrip(".") for each in codes)
    invalid = {each for each in SENTENCES.values() if each != "%(error)s"}  # quoted as it is
    return {*found, *invalid, *(each.value for each in words), *options, *of_attention, *staff}


def extracted(method: str, folder: Path, pattern: str, keyword: str) -> list[str]:
    """Return what stands in calls of ``keyword`` in the files of a folder."""
    options = {"trimmed": "false"}
    return [
        str(message)
        for file in sorted(folder.rglob(pattern))
        for _, message, _, _ in extract_from_file(method, file, keywords={keyword: None}, options=options)
        if message
    ]
