"""The page that tells of cassettes and variables is held to its word."""

import re
from pathlib import Path

from gateway_client_tests.contract.endpoints import ENDPOINTS
from gateway_client_tests.contract.tape import CASSETTES
from integration_base_tests.places import REPOSITORY

PAGE = (REPOSITORY / "docs" / "gateway.md").read_text()
CONTRACT, _, RECORDING = PAGE.partition("## Cassettes and the contract")[2].partition("### Record from an account")
ROWS = {
    part.split()[0]: re.findall(r"`([^`]+)`", stories)
    for part, stories in re.findall(r"^\| (\w[^|]*?) \| (`.*) \|$", CONTRACT, re.MULTILINE)
}


def test_every_story_is_told_of_and_no_other() -> None:
    told = {story for stories in ROWS.values() for story in stories}
    kept = {Path(*path.relative_to(CASSETTES).parts[1:]) for path in CASSETTES.rglob("*.yaml")}
    assert told == {str(story.with_suffix("")) for story in kept}


def test_every_part_that_has_calls_is_told_of() -> None:
    assert {endpoint.part.split()[0] for endpoint in ENDPOINTS} <= set(ROWS)


def test_every_variable_is_told_of_and_no_other() -> None:
    told = set(re.findall(r"`(GATEWAY_\w+)`", RECORDING.partition("## Performance")[0]))
    read = {
        name
        for module in ("account.py", "tape.py")
        for name in re.findall(r'"(GATEWAY_\w+)"', Path(__file__).with_name(module).read_text())
    }
    assert told == read
