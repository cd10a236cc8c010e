"""What a demo tells: who said what to whom, and whether what must be true is true."""

from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from enum import StrEnum
from typing import Protocol, TypeAlias

Fact: TypeAlias = str | int | Decimal | None


class Party(StrEnum):
    """Who speaks, or is spoken to."""

    SHOPPER = "shopper"
    SHOP = "shop"
    STAFF = "staff"
    OPERATOR = "operator"
    SALEOR = "Saleor"
    APP = "app"
    GATEWAY = "gateway"


@dataclass(slots=True)
class Exchange:
    """Something that was said, and what came back. ``seconds`` is None while the answer is outstanding or not timed."""

    at: datetime
    speaker: Party
    hearer: Party
    said: str
    answer: str = ""
    seconds: float | None = None
    failed: bool = False
    facts: dict[str, Fact] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Place:
    """A page that the person can open."""

    name: str
    url: str
    what_for: str


@dataclass(frozen=True, slots=True)
class Trouble:
    """Why a demo ends early: the step, what should have been true, what was instead, and whose last words follow."""

    step: str
    title: str
    expected: str
    found: str
    log_name: str = ""
    log: tuple[str, ...] = ()


class Teller(Protocol):
    """Tells it to somebody: a person at a terminal, or a program."""

    def begin(self) -> None:
        """Say what this is."""

    def step(self, number: int, name: str, title: str) -> None:
        """Begin a chapter."""

    def exchange(self, exchange: Exchange) -> None:
        """Tell what was said, and the answer."""

    def check(self, what: str) -> None:
        """Tell that something that must be true is true."""

    def waiting(self, what: str) -> AbstractContextManager[object]:
        """Show that something is being waited for, for as long as the context is open."""

    def trouble(self, trouble: Trouble) -> None:
        """Tell what went wrong."""

    def end(self, checks: int, seconds: float) -> None:
        """Tell that every step was right."""

    def places(self, places: Sequence[Place], hints: Sequence[str]) -> None:
        """Show where the person can go on; from here on they play."""

    def farewell(self) -> None:
        """Say goodbye to a person who ends it."""
