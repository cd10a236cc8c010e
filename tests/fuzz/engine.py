"""Changes inputs by chance, keeps those that reach lines of the app which none has reached, and finds what breaks.

The same seed tells the same story. An input that breaks something is made shorter as long as it still does.
"""

import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from random import Random
from types import FrameType
from typing import Any, TypeAlias

from tests.fuzz.targets import Target
from tests.sources import HOUSES

_HOUSES = tuple(map(str, HOUSES))
_LONGEST = 64 * 1024
_TOKEN = re.compile(rb'-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|"(?:[^"\\]|\\.)*"|true|false|null')
_TELLING = [
    *(b"null", b"true", b"0", b"-1", b"1e400", b"1E-400", b"0.001", b"9" * 40, b"1e999999999", b"NaN", b"Infinity"),
    *(b"[]", b"{}", b'""', b"[" * 200, b'{"a":' * 100, b'"\\u0000"', b'"\\ud800"', b'"\xff\xfe"', b'"\xe2\x80\xae"'),
    *(b'"' + b"x" * 300 + b'"', b'"success"', b'"refund"', b'"4242424242424242"', b'"javascript:alert(1)"'),
    b'"2026-13-45T99:99:99.999"',
]
_BYTES = [
    b"\x00",
    b"\xff",
    b"\n",
    b"\r\n",
    b"=",
    b"&",
    b"%",
    b".",
    b"..",
    b"+",
    b'"',
    b"\\",
    b"{",
    b"}",
    b"[",
    b"]",
    b",",
    b":",
]

Line: TypeAlias = tuple[str, int]


@dataclass(frozen=True)
class Finding:
    """An input with which the parser did what it may not, and how that ended."""

    target: str
    text: bytes
    error: BaseException

    def __str__(self) -> str:
        return f"{self.target}: {type(self.error).__name__}: {self.error}\n{self.text!r}"


@dataclass
class Fuzzer:
    """``guided``: whether it looks at which lines an input reaches, which takes several times as long."""

    target: Target
    seed: int
    guided: bool = False
    reached: set[Line] = field(default_factory=set)
    new: list[bytes] = field(default_factory=list)

    def run(self, most: int, until: Callable[[], bool] = lambda: False) -> Finding | None:
        """Try the corpus, and then ``most`` inputs, or as many as there is time for; return the first that breaks."""
        chance = Random(f"{self.target.name}-{self.seed}")  # noqa: S311 - the same again for the same seed
        pool = self.target.corpus()
        for text in pool:
            if error := self._try(text):
                return self._shortest(text, error)
        self.new.clear()
        for _ in range(most):
            if until():
                break
            text, known = mutate(chance.choice(pool), pool, chance), len(self.new)
            if error := self._try(text):
                return self._shortest(text, error)
            pool += self.new[known:]
        return None

    def _try(self, text: bytes) -> BaseException | None:
        before = len(self.reached)
        try:
            with _tracing(self.reached) if self.guided else _not_tracing():
                self.target.take(text)
        except (Exception, RecursionError) as error:  # noqa: BLE001 - whatever it is, it is what is looked for
            return error
        if len(self.reached) > before:
            self.new.append(text)
        return None

    def _shortest(self, text: bytes, error: BaseException) -> Finding:
        self.guided = False
        size = max(1, len(text) // 2)
        while size:
            start = 0
            while start < len(text):
                shorter = text[:start] + text[start + size :]
                again = self._try(shorter)
                if again is not None and type(again) is type(error):
                    text, error = shorter, again
                else:
                    start += size
            size //= 2
        return Finding(self.target.name, text, error)


def mutate(text: bytes, pool: list[bytes], chance: Random) -> bytes:
    """Return a text with one to four changes by chance."""
    for _ in range(chance.choice((1, 1, 2, 4))):
        text = chance.choice(_CHANGES)(text, pool, chance)
    return text[:_LONGEST]


def _flip(text: bytes, _pool: list[bytes], chance: Random) -> bytes:
    if not text:
        return text
    at = chance.randrange(len(text))
    return text[:at] + bytes([text[at] ^ 1 << chance.randrange(8)]) + text[at + 1 :]


def _insert(text: bytes, _pool: list[bytes], chance: Random) -> bytes:
    at = chance.randint(0, len(text))
    return text[:at] + chance.choice(_BYTES) + text[at:]


def _cut(text: bytes, _pool: list[bytes], chance: Random) -> bytes:
    first, last = sorted(chance.randint(0, len(text)) for _ in range(2))
    return text[:first] + text[last:]


def _repeat(text: bytes, _pool: list[bytes], chance: Random) -> bytes:
    first, last = sorted(chance.randint(0, len(text)) for _ in range(2))
    return text[:last] + text[first:last] * chance.choice((1, 2, 9)) + text[last:]


def _splice(text: bytes, pool: list[bytes], chance: Random) -> bytes:
    other = chance.choice(pool)
    return text[: chance.randint(0, len(text))] + other[chance.randint(0, len(other)) :]


def _replace_json_value(text: bytes, pool: list[bytes], chance: Random) -> bytes:
    """Put another value in the place of one of JSON."""
    found = list(_TOKEN.finditer(text))
    if not found:
        return _insert(text, pool, chance)
    there = chance.choice(found)
    others: list[bytes] = _TOKEN.findall(chance.choice(pool))
    value = chance.choice(_TELLING if chance.random() < 0.7 or not others else others)
    return text[: there.start()] + value + text[there.end() :]


_CHANGES: tuple[Callable[[bytes, list[bytes], Random], bytes], ...] = (
    _flip,
    _insert,
    _cut,
    _repeat,
    _splice,
    _replace_json_value,
    _replace_json_value,
    _replace_json_value,
)


@contextmanager
def _not_tracing() -> Iterator[None]:
    yield


@contextmanager
def _tracing(lines: set[Line]) -> Iterator[None]:
    """Collect the lines of the app that are reached."""

    def inside(frame: FrameType, event: str, _arg: Any) -> Any:
        if event == "line":
            lines.add((frame.f_code.co_filename, frame.f_lineno))
        return inside

    def called(frame: FrameType, _event: str, _arg: Any) -> Any:
        return inside if frame.f_code.co_filename.startswith(_HOUSES) else None

    before = sys.gettrace()
    sys.settrace(called)
    try:
        yield
    finally:
        sys.settrace(before)
