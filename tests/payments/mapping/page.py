"""Generates docs/mapping.md from the table: ``python -m tests.payments.mapping.page``."""

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from tests.payments.mapping.table import BANK, DECLINED, LOST, SECTIONS, SHOPPER, Row, Section

PAGE = Path(__file__).parents[3] / "docs" / "mapping.md"

_INTRO = """\
# What follows from what

For engineers, and for whoever wants to know exactly: everything that can be asked of a payment, everything that the
gateway can say to it or fail to say, and what follows. Nothing is left out, and nothing here is a mere promise: a test
plays every line against the app and compares. The page is made of the table that the test reads (`make mapping`), so
edit that: `tests/payments/mapping/rows.txt`.

How to read it:

- **Saleor is answered** is the answer to the webhook. **Kept** is what changes in the database, and by whose reference
  Saleor knows it for ever. **Told besides** are the events that are reported; *the same* is the answer's own event,
  reported too because an answer can get lost. **Saleor's books** are Saleor's amounts half a minute later.
- `TRY_AGAIN`: nobody has the link of that page, which is closed behind the scenes
  ([decision 16](decisions/0016-a-lost-page-is-a-failure-at-once.md)).
- What follows for a shopper is the same whether the money is taken at once or reserved. There `…` stands for `CHARGE`
  or `AUTHORIZATION`, *paid* for charged or reserved, and *what is possible next* for a refund, or for charging and
  cancelling.
- *Offered* is what staff can ask next. It is never more than the gateway would do.
- The payment is always over 569.50.
- A *problem* is one that staff see on the payment. Nothing of it is ever booked as a success.
"""

_GROUPS = (
    (BANK, "pending at the bank: {}"),
    (SHOPPER, "pending, and it is the shopper's turn: {}"),
    (DECLINED, "failure with a code: {}"),
    (LOST, "no answer that can be read: {}"),
)
_EVENT = re.compile(r"…?[A-Z]*_?(?:ACTION_REQUIRED|REQUEST|SUCCESS|FAILURE)\b|\bINFO\b")


def render_page() -> str:
    """Return the whole page."""
    index = "\n".join(f"- [{each.title}](#{_anchor(each.title)})" for each in SECTIONS)
    return "\n".join([_INTRO, index, "", *(_section(each) for each in SECTIONS)])


def _section(section: Section) -> str:
    columns = {
        section.first_column: [_render_outcomes(section, row) for row in section.rows],
        "Saleor is answered": [_render_answer(row.answer) for row in section.rows],
        "Kept": [row.kept.replace("; ", "<br>") for row in section.rows],
        "Told besides": [_render_reported(row.told) for row in section.rows],
        "Saleor's books": [row.saleor for row in section.rows],
    }
    kept = {name: cells for name, cells in columns.items() if set(cells) - {"–", "nothing", "as before"}}
    rows = ["| " + " | ".join(cells) + " |" for cells in zip(*kept.values(), strict=True)]
    head = [f"| {' | '.join(kept)} |", f"|{' --- |' * len(kept)}"]
    return "\n".join([f"## {section.title}", "", section.intro, "", *head, *rows, ""])


def _render_outcomes(section: Section, row: Row) -> str:
    return "<br>".join(_outcome_texts(section, list(row.said)))


def _outcome_texts(section: Section, said: list[str]) -> Iterator[str]:
    while said:
        group = next((each for each in _GROUPS if each[0][0] == said[0] and set(each[0]) <= set(said)), None)
        if group is None:
            yield section.cases[said.pop(0)]
            continue
        names, words = group
        yield words.format(_list_names(section, names))
        said = [name for name in said if name not in names]


def _list_names(section: Section, names: Iterable[str]) -> str:
    if names is LOST:
        return ", ".join(section.cases[name] for name in names)
    codes = ", ".join(f"`{name}`" for name in names if name != "unknown code")
    return f"{codes}, and any that nobody documents" if "unknown code" in names else codes


def _render_answer(text: str) -> str:
    if text == "-":
        return "–"
    text, quote, words = text.partition(" “")
    text = _EVENT.sub(lambda found: f"`{found[0]}`", text)
    text = re.sub(r" with (.+)$", lambda found: f"; data: `{found[1].replace(', ', '`, `')}`", text)
    text = text.replace(" error of the gateway", "; error: the gateway's code")
    text = re.sub(r" error (\w+)$", r"; error: `\1`", text)
    return _render_actions(text) + (f"<br>“{words}" if quote else "")


def _render_reported(text: str) -> str:
    text = _EVENT.sub(lambda found: f"`{found[0]}`", text).replace(" 0.00", "")
    return "<br>".join(_render_actions(part).replace("the same", "*the same*") for part in text.split("; "))


def _render_actions(text: str) -> str:
    text = text.replace(" [next]", ", offered: *what is possible next*").replace(" []", ", offered: nothing")
    return re.sub(r" \[([A-Z, ]+)\]", r", offered: \1", text)


def _anchor(title: str) -> str:
    return re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")


if __name__ == "__main__":
    PAGE.write_text(render_page())
