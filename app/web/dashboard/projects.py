"""Which of the money that pages show is not real: that of test projects."""

from collections.abc import Collection, Sequence
from typing import Literal

from app.store.tables import MerchantAccount


def test_ids(accounts: Sequence[MerchantAccount]) -> Collection[str]:
    """Return the ids of the accounts whose money is not real."""
    return {account.id for account in accounts if account.test_project}


def tests_among(accounts: Sequence[MerchantAccount]) -> Literal["", "some", "all"]:
    """Return whether sums over these accounts have money that is not real."""
    tests = len(test_ids(accounts))
    if not tests:
        return ""
    return "all" if tests == len(accounts) else "some"
