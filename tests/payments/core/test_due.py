"""One module says when the worker next attends to an operation."""

import ast

from tests.sources import name_of, source_files


def test_one_module_says_when_an_operation_is_due() -> None:
    """Laws of money, 13: a moment that is set, or forgotten, somewhere else is a payment that waits for ever."""
    writers = {
        name_of(path)
        for path in source_files()
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Attribute) and node.attr == "next_poll_at" and isinstance(node.ctx, ast.Store)
    }
    assert writers == {"app/rules/due.py"}
