"""The page of statements is as the code, the cassettes and the journeys are now, and leaves nothing empty."""

import re
from collections.abc import Sequence

from gateway_client_tests.contract.tape import CASSETTES
from gateway_client_tests.test_docs import functions_of
from integration_base_tests.places import REPOSITORY
from tests.gateway_contract import statements
from tests.gateway_contract.statement_rules import rules

CLIENT_TESTS = REPOSITORY / "packages" / "gateway-client" / "tests" / "gateway_client_tests"
ROWS = [*statements.rows(), *rules()]


def test_the_page_is_made_of_what_is_there_now() -> None:
    assert statements.PAGE.read_text(encoding="utf-8") == statements.page(), "run `make statements`"


def test_no_cell_is_empty_without_a_reason() -> None:
    assert [row for row in ROWS if not all(row)] == []


def test_every_part_of_the_interface_has_its_statements() -> None:
    assert len(ROWS) > 350
    assert {row[0] for row in ROWS} >= {part.title for part in statements.PARTS.values()} | {*statements.CALLS.values()}


def test_the_places_are_there() -> None:
    for row in set(ROWS):
        check_places(row)


def check_places(row: Sequence[str]) -> None:
    """Every module, story, journey and test that a row names exists."""
    _, _, _, journey, sandbox, cassette, tests = row
    for file, name in re.findall(r"`(test_\w+\.py)(?:::(\w+))?`", journey):
        path = REPOSITORY / "tests" / "journeys" / file
        assert path.is_file(), file
        assert not name or name in functions_of(path), name
    for module in re.findall(r"`([\w/]+\.py)`", sandbox):
        assert (statements.SANDBOX / module).is_file(), module
    for story in re.findall(r"`((?:\w+/)?\w+/\w+)`", cassette):
        assert any((CASSETTES / preset / f"{story}.yaml").is_file() for preset in ("", "public", "interface")), story
    for file, name in re.findall(r"`(test_\w+\.py)::(\w+)", tests):
        assert name in functions_of(CLIENT_TESTS / file), name
