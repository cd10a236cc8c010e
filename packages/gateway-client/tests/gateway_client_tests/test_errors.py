"""The tree of errors: drawn in its module as it is, and silent about what must not be told."""

import copy
import pickle
import re

import pytest

from gateway_client import errors
from gateway_client.errors import (
    BrokenRule,
    GatewayError,
    InvalidRequestError,
    NotSentError,
    RefusedError,
    Violation,
    sanitize,
)
from gateway_client.notification import SignedButUnreadableError
from gateway_client.sandbox.control import SandboxRefusedError
from integration_base.connection_failures import ConnectionFailure


def test_the_tree_that_is_drawn_is_the_tree() -> None:
    drawn: dict[str, str] = {}
    branch = ["GatewayError"]
    for line in (errors.__doc__ or "").splitlines():
        if found := re.fullmatch(r"    ((?:\|  |   )*)[|`]- (\w+).*", line):
            depth = len(found[1]) // 3 + 1
            drawn[found[2]] = branch[depth - 1]
            branch[depth:] = [found[2]]

    def below(kind: type[GatewayError]) -> dict[str, str]:
        children = [child for child in kind.__subclasses__() if child.__module__.startswith("gateway_client.")]
        found = {child.__name__: kind.__name__ for child in children}
        for child in children:
            found |= below(child)
        return found

    assert drawn == below(GatewayError)


@pytest.mark.parametrize("number", ["4242424242424242", "4242 4242 4242 4242", "4242-4242-4242-4242", "424242424242"])
def test_whatever_looks_like_a_card_number_is_not_quoted(number: str) -> None:
    assert sanitize(f"card {number}, no") == "card (number), no"


@pytest.mark.parametrize("named", ["cvv 737", "CVC2: 7371", 'card_cvv="737"'])
def test_what_is_called_a_security_code_is_not_quoted(named: str) -> None:
    assert "737" not in sanitize(f"bad {named} for this card")
    assert "(not shown) for this card" in sanitize(f"bad {named} for this card").replace('"', "")


def test_what_is_quoted_is_one_printable_line() -> None:
    assert sanitize("one\n two\x00three\x1b[31m\u202efour") == "one two three [31m four"


def test_other_numbers_are_quoted() -> None:
    assert sanitize("order 1234567890 of 2026-11-21 for 100.00 UAH") == "order 1234567890 of 2026-11-21 for 100.00 UAH"


def test_an_error_tells_the_call_and_the_code() -> None:
    error = RefusedError("No", method="POST", path="/api/v1/void", order_id="o-1", code="P-1", http_status=400)
    assert str(error) == "POST /api/v1/void: No [HTTP 400, code P-1, order o-1]"
    assert repr(error) == f"<RefusedError: {error}>"
    assert str(GatewayError("alone")) == "alone"


def unreachable() -> NotSentError:
    error = NotSentError("no connection", method="POST", path="/payments")
    error.connection = ConnectionFailure.REFUSED
    return error


@pytest.mark.parametrize(
    "error",
    [
        InvalidRequestError(
            "amount", "at least 0.01", "0", more=(BrokenRule("email", "an address", "x"),), order_id="o"
        ),
        RefusedError("refused", violations=(Violation("email", "bad"),), code="E1", http_status=400, pause=3),
        SignedButUnreadableError("no record", "the data"),
        unreachable(),
        SandboxRefusedError(404, "There is no such payment"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_an_error_can_be_brought_from_another_process(error: Exception) -> None:
    """Job queues and pools of processes do so; an error that cannot be read there ends the pool."""
    for brought in (pickle.loads(pickle.dumps(error)), copy.deepcopy(error)):  # noqa: S301 - it is the test's own
        assert (type(brought), str(brought), vars(brought)) == (type(error), str(error), vars(error))
