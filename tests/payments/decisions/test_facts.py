"""All that changes a payment is a fact, and the room of the decisions says which there are."""

import inspect
import pkgutil
from collections.abc import Iterator
from dataclasses import is_dataclass
from importlib import import_module
from typing import Any

import pytest

from app.core.fact import AttemptFact, Fact
from app.core.notification import NotificationFact
from app.rules import decisions

MODULES = [f"{decisions.__name__}.{module.name}" for module in pkgutil.iter_modules(decisions.__path__)]


def facts() -> Iterator[type[Any]]:
    """Yield the facts of the app; the tests have some of their own."""
    for module in MODULES:
        import_module(module)
    kinds: tuple[type[Any], ...] = (Fact, AttemptFact, NotificationFact)
    for kind in kinds:
        for fact in kind.__subclasses__():  # with a dataclass of slots also the class that it was made of
            if fact.__module__.startswith("app.") and getattr(import_module(fact.__module__), fact.__name__) is fact:
                yield fact


# Subclasses come in no order, and every process that shares in the tests must have the same.
FACTS = {fact.__name__: fact for fact in sorted(facts(), key=lambda fact: fact.__name__)}


def test_facts_are_listed_where_they_are_decided() -> None:
    listed = inspect.getdoc(decisions) or ""
    for fact in FACTS.values():
        assert fact.__module__ in MODULES, fact
        assert f"``{fact.__name__}``" in listed, fact
        assert f"(``{fact.__module__.rpartition('.')[2]}``)" in listed, fact


@pytest.mark.parametrize("fact", FACTS.values(), ids=FACTS)
def test_fact_is_data_that_cannot_be_changed(fact: type[Any]) -> None:
    """It may decide twice, about a payment that is reloaded: what it decides from must be the same."""
    assert is_dataclass(fact)
    assert fact.__dataclass_params__.frozen  # type: ignore[attr-defined]
