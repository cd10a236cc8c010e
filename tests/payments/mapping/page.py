"""Generates docs/mapping.md from the table: ``python -m tests.payments.mapping.page``."""

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from tests.payments.mapping.table import BANK, DECLINED, LOST, NOT_FOR_ITS_STATE, SECTIONS, SHOPPER, Row, Section

PAGE = Path(__file__).parents[3] / "docs" / "mapping.md"

_INTRO = """\
# The mapping of gateway records to Saleor events

For engineers, and for anybody who wants to know exactly: every request on a payment, everything that the gateway can
report about it or fail to report, and the result. The list is complete, and a test plays every line against the app and
compares. The page is generated from the table that the test reads (`make mapping`), so edit that:
`tests/payments/mapping/rows.txt`.

How to read it:

- **Response to Saleor** is the response to the webhook. **Stored** is what changes in the database, and the reference
  by which Saleor knows it from then on. **Reported** are the events that are reported; *the same* is the response's own
  event, reported too because a response can get lost. **Amounts in Saleor** are those half a minute later.
- `TRY_AGAIN`: nobody has the link to that page, which is closed in the background
  ([decision 16](decisions/0016-a-lost-page-is-a-failure-at-once.md)).
- For a shopper the result is the same whether the money is charged at once or reserved. There `…` stands for `CHARGE`
  or `AUTHORIZATION`, *paid* for charged or reserved, and *what is possible next* for a refund, or for charging and
  cancelling.
- *Offered* is what staff can request next. It is never more than the gateway would do.
- The amount of the payment is always 569.50.
- A *problem* is one that staff see on the payment. It is never booked as a success.
"""

_GROUPS = (
    (BANK, "pending at the bank: {}"),
    (SHOPPER, "pending, and it is the shopper's turn: {}"),
    (DECLINED, "failure with a code: {}"),
    (NOT_FOR_ITS_STATE, "failure with another code: {}"),
    (LOST, "no readable response: {}"),
)
_EVENT = re.compile(r"…?[A-Z]*_?(?:ACTION_REQUIRED|REQUEST|SUCCESS|FAILURE)\b|\bINFO\b")


def render_page() -> str:
    """Return the whole page."""
    index = "\n".join(f"- [{section.title}](#{_anchor(section.title)})" for section in SECTIONS)
    return "\n".join([_INTRO, index, "", *(_section(section) for section in SECTIONS)])


def _section(section: Section) -> str:
    columns = {
        section.first_column: [_render_outcomes(section, row) for row in section.rows],
        "Response to Saleor": [_render_answer(row.answer) for row in section.rows],
        "Stored": [row.kept.replace("; ", "<br>") for row in section.rows],
        "Reported": [_render_reported(row.told) for row in section.rows],
        "Amounts in Saleor": [row.saleor for row in section.rows],
    }
    kept = {name: cells for name, cells in columns.items() if set(cells) - {"–", "nothing", "as before"}}
    rows = ["| " + " | ".join(cells) + " |" for cells in zip(*kept.values(), strict=True)]
    head = [f"| {' | '.join(kept)} |", f"|{' --- |' * len(kept)}"]
    return "\n".join([f"## {section.title}", "", section.intro, "", *head, *rows, ""])


def _render_outcomes(section: Section, row: Row) -> str:
    return "<br>".join(_outcome_texts(section, list(row.said)))


def _outcome_texts(section: Section, said: list[str]) -> Iterator[str]:
    while said:
        group = next((group for group in _GROUPS if group[0][0] == said[0] and set(group[0]) <= set(said)), None)
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
    return f"{codes}, and any undocumented code" if "unknown code" in names else codes


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
