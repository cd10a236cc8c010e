"""Every text for people writes an amount by the one function for it."""

import ast
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from tests.sources import name_of, source_files

AMOUNT_NAME = re.compile(
    r"(\w+_)?(amount|total|authorized|charged|refunded|taken|returned|capturable|refundable|fee|net|available|"
    r"rolling_reserve|before_discounts)"
)
# Exact values for JSON, for the database and to compare; and what is no amount, or is formatted already.
EXCEPTIONS = Counter(
    [
        "integration_base/amounts.py: amount",
        "integration_base/amounts.py: amount",
        "gateway_client/models/reports.py: amount",
        "app/i18n/messages.py: amount",
        "app/core/request.py: amount",
        "app/core/request.py: amount",
        "app/rules/decisions/manual_resolution.py: amount",
        "app/flows/reconciliation/compare.py: amount",
        "app/flows/reconciliation/entries.py: amount",
        "app/flows/reconciliation/entries.py: amount",
        "app/flows/reconciliation/spool.py: amount",
        "app/rules/split/choice.py: amount",
        "app/reports/timeline.py: amount",
        "app/commands/account_add.py: taken",
        "app/commands/payment_split.py: total",
        "app/commands/progress_bar.py: total",
    ]
)


def written_as_they_are(path: Path) -> Iterator[str]:
    """Yield each amount that is put into a text without the one function that formats amounts."""
    for node in ast.walk(ast.parse(path.read_text())):
        match node:
            case ast.FormattedValue(value=value) | ast.Call(func=ast.Name(id="str" | "format"), args=[value, *_]):
                pass
            case _:
                continue
        match value:
            case ast.Attribute(attr=name) | ast.Name(id=name) | ast.Subscript(slice=ast.Constant(value=str(name))):
                if AMOUNT_NAME.fullmatch(name):
                    yield f"{name_of(path)}: {name}"


def test_no_text_for_people_holds_an_amount_as_it_is() -> None:
    found = Counter(amount for path in source_files() for amount in written_as_they_are(path))
    assert found == EXCEPTIONS


def test_no_template_writes_an_amount_without_naming_its_currency() -> None:
    """Where the currency's code stands elsewhere, ``amount(currency)`` writes the decimals that it has."""
    templates = list(Path("app").rglob("*.html"))
    assert templates
    assert [str(path) for path in templates if "money(none)" in path.read_text()] == []
