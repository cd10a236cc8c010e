"""Periods and amounts as operators type them."""

from datetime import UTC, datetime
from decimal import Decimal

import pytest

from app.commands.arguments import read_moment, read_shares
from app.commands.failure import CommandFailed
from app.services import Services
from app.store.aggregates import ByOrder
from app.store.tables import MerchantAccount
from tests.commands.books import ORDER, store_payment
from tests.commands.conftest import Shell, one_database


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("2026-11-21", datetime(2026, 11, 22, tzinfo=UTC)),
        ("2024-02-29", datetime(2024, 3, 1, tzinfo=UTC)),
        ("2026-11-21T12:00+02:00", datetime(2026, 11, 21, 10, tzinfo=UTC)),
        ("2026-11-21 12:00+02:00", datetime(2026, 11, 21, 10, tzinfo=UTC)),
        ("2026-11-21t12:00+02:00", datetime(2026, 11, 21, 10, tzinfo=UTC)),  # RFC 3339 allows it
        ("2026-11-21_12:00Z", datetime(2026, 11, 21, 12, tzinfo=UTC)),
    ],
)
def test_a_day_is_counted_to_its_end_and_a_moment_is_itself(text: str, moment: datetime) -> None:
    assert read_moment(text, "--to", last=True) == moment


@pytest.mark.parametrize("text", ["9999-12-31", "0001-01-01T00:00+02:00", "2026-02-29", "21.11.2026"])
def test_what_no_calendar_has_is_refused_in_words(text: str) -> None:
    """``9999-12-31`` is what some systems write for "without an end"."""
    with pytest.raises(CommandFailed, match=f"--to: '{text.replace('+', '.')}' is not a date"):
        read_moment(text, "--to", last=True)


def test_shares_are_typed_in_the_decimals_of_their_currency() -> None:
    assert read_shares(["one=1.250", "two=2,5"], {}, "KWD") == {"one": Decimal("1.25"), "two": Decimal("2.5")}
    with pytest.raises(CommandFailed, match=r"'one=1\.250' must be SUB_MERCHANT=AMOUNT"):
        read_shares(["one=1.250"], {}, "UAH")


@one_database
async def test_request_with_an_empty_name_is_refused(
    shell: Shell, services: Services, account: MerchantAccount
) -> None:
    """A script whose variable is not set would refund twice when it is repeated, though it named its request."""
    await store_payment(services, account)
    payout = ("--amount", "1", "--description", "A prize", "--customer", "VXNlcjo3", "--recipient", "-")
    for words in (
        ("payments", "refund", ORDER, "--amount", "30", "--yes"),
        ("payments", "capture", ORDER, "--yes"),
        ("payments", "void", ORDER, "--yes"),
        ("payments", "cancel", ORDER, "--yes"),
        ("payments", "link", "T3JkZXI6NzNlZjgzMzktOTliOS00NmIzLTg0NjEtYTg5NzZmNjM1OTli"),
        ("payouts", "send", account.name, *payout, "--yes"),
    ):
        (await shell(*words, "--request", "")).failed("--request: the name is empty", status=2)
    stored = await services.payments.find(ByOrder(ORDER))
    assert stored is not None
    assert len(stored.operations) == 1


@one_database
async def test_an_empty_name_is_not_that_of_all(shell: Shell, services: Services, account: MerchantAccount) -> None:
    """A script whose variable is not set would read, or change, what belongs to other stores."""
    for words in (("payments", "list"), ("payouts", "list"), ("installations", "update"), ("money",)):
        (await shell(*words, "--saleor", "")).failed("the store '' has not installed this app")
    (await shell("money", "--account", "")).failed("there is no merchant account '': ")
