"""A function is changed by its name, however it is written; what is not there, or is there twice, is an error."""

import ast
from pathlib import Path

import pytest

from tests.laws.changes import (
    Assigned,
    BeginsWith,
    Call,
    Condition,
    FunctionChange,
    Name,
    Returns,
    WithoutCall,
    changed_sources,
)

SOURCE = """
from somewhere import charge, events, log, query, refund

class Desk:
    def pay(self, order, due):
        if order.open and order.amount > self.limit:
            return None
        known = order.total if due else 0
        self.rows.append(known)
        charge(order, known)
        return (query()
            .where(order).lock()
            .all())

def pay(): ...
"""
PAY = "app.desk:Desk.pay"


def changed(tmp_path: Path, change: FunctionChange, function: str = PAY) -> str:
    (tmp_path / "app").mkdir(exist_ok=True)
    (tmp_path / "app" / "desk.py").write_text(SOURCE)
    [(path, source)] = changed_sources(tmp_path, {function: change}).items()
    assert path == tmp_path / "app" / "desk.py"
    return source


@pytest.mark.parametrize(
    ("change", "before", "after"),
    [
        (Condition({"limit"}, "False"), "order.amount > self.limit", "False"),
        (Condition({"order.open", "limit"}, "False"), "order.open and order.amount > self.limit", "False"),
        (Condition({"due"}, "order"), "if due", "if order"),
        (Assigned("known", "self.limit"), "known = order.total if due else 0", "known = self.limit"),
        (Name("charge", "refund"), "charge(order, known)", "refund(order, known)"),
        (Call("charge", "log()"), "charge(order, known)", "log()"),
        (WithoutCall("rows.append"), "self.rows.append(known)", "None"),
        (WithoutCall("lock"), ".lock()", ""),
        (BeginsWith("events()"), "if order.open", "events()\n        if order.open"),
    ],
    ids=lambda value: value if isinstance(value, str) else type(value).__name__,
)
def test_the_rest_of_the_module_stays_as_it_is(tmp_path: Path, change: FunctionChange, before: str, after: str) -> None:
    plain = ast.unparse(ast.parse(SOURCE))
    assert plain.count(before) == 1
    assert changed(tmp_path, change) == plain.replace(before, after)


def test_a_function_returns_something_else_and_does_nothing_more(tmp_path: Path) -> None:
    [_, desk, other] = ast.parse(changed(tmp_path, Returns("due"))).body
    assert ast.unparse(desk) == "class Desk:\n\n    def pay(self, order, due):\n        return due"
    assert ast.unparse(other) == "def pay():\n    ..."


@pytest.mark.parametrize(
    ("function", "change", "told"),
    [
        ("app.shop:pay", Returns("1"), "app.shop:pay: there is no module app.shop"),
        ("app.desk:Desk.sell", Returns("1"), "app.desk:Desk.sell: there is no such function"),
        (PAY, Condition({"closed"}, "False"), f"{PAY}: there is no condition that mentions closed"),
        (PAY, Condition({"order"}, "False"), "more than one condition that mentions order, in lines 6, 6"),
        (PAY, Assigned("rest", "0"), "no assignment to rest"),
        (PAY, Name("known", "0"), "more than one use of known, in lines 9, 10"),
        (PAY, Call("refund", "0"), "no call of refund"),
        (PAY, WithoutCall("append_all"), "no call of append_all"),
        (PAY, WithoutCall("query"), "the value of the call of query is used"),
        (PAY, Returns("paid + unpaid"), "uses names that are not known there: paid, unpaid"),
        ("app.desk:pay", Call("pay", "0"), "no call of pay"),
        (PAY, Condition({"due"}, "due"), "the change leaves it as it is"),
    ],
    ids=lambda value: value if isinstance(value, str) else type(value).__name__,
)
def test_what_cannot_be_changed_is_told(tmp_path: Path, function: str, change: FunctionChange, told: str) -> None:
    with pytest.raises(LookupError) as error:
        changed(tmp_path, change, function)
    assert told in str(error.value.args[0])


def test_several_functions_of_a_module_are_changed_together(tmp_path: Path) -> None:
    changed(tmp_path, Returns("1"))
    changes = {PAY: Returns("due"), "app.desk:pay": Returns("2")}
    [source] = changed_sources(tmp_path, changes).values()
    assert "return due" in source
    assert "return 2" in source
