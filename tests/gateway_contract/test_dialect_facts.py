"""What the interface does not show is known in one place."""

import ast
import re

from tests.sources import name_of, source_files

_BEYOND = re.compile(r"/api/v1/(capture|applepay|tokenization|recurring)\b|^releases_rest$")
_ALLOWED = {"gateway_client/dialect.py", "app/rules/accounts/dialect_options.py"}


def test_nothing_else_in_the_product_knows_such_a_fact() -> None:
    """Texts of the code, not comments: paths and words that the interface does not show."""
    found = []
    for path in source_files():
        place = name_of(path)
        if place in _ALLOWED:
            continue
        texts = (node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Constant))
        found += [f"{place}:{text.lineno}" for text in texts if _BEYOND.search(str(text.value))]
    assert found == []
