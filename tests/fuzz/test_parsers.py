"""Whatever comes from outside, a parser takes it or refuses it as it says, and never takes a forgery."""

import pytest

from tests.fuzz.engine import Fuzzer
from tests.fuzz.targets import TARGETS, Target

pytestmark = pytest.mark.threat("hostile-text")

targets = pytest.mark.parametrize("target", TARGETS.values(), ids=lambda target: target.name)


@pytest.mark.threat("forged-notification", "forged-webhook")
@targets
def test_what_is_changed_by_chance_is_refused_as_the_parser_says_or_taken(target: Target) -> None:
    found = Fuzzer(target, seed=1).run(400)
    assert found is None, found


@pytest.mark.long
@pytest.mark.timeout(600)
@targets
def test_so_is_what_reaches_lines_that_nothing_else_reaches(target: Target) -> None:
    fuzzer = Fuzzer(target, seed=2, guided=True)
    found = fuzzer.run(20_000)
    assert found is None, found
    assert len(fuzzer.reached) > 20


def test_a_parser_that_breaks_is_found_and_its_input_made_short() -> None:
    def take(text: bytes) -> None:
        if b"\xff" in text and b"=" in text:
            raise IndexError("it breaks")

    target = Target("notification", take)
    found = Fuzzer(target, seed=1).run(10_000)
    assert found is not None
    assert isinstance(found.error, IndexError)
    assert sorted(found.text) == sorted(b"\xff=")


def test_the_same_seed_tries_the_same() -> None:
    def tried(seed: int) -> list[bytes]:
        texts: list[bytes] = []
        Fuzzer(Target("keys", texts.append), seed).run(50)
        return texts

    assert tried(7) == tried(7) != tried(8)


def test_lines_that_are_reached_for_the_first_time_are_noticed() -> None:
    fuzzer = Fuzzer(TARGETS["keys"], seed=3, guided=True)
    assert fuzzer.run(300) is None
    assert fuzzer.new, "changes by chance lead elsewhere than the genuine ones"
