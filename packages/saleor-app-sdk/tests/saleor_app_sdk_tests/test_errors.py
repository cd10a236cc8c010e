"""The errors, as programs of others handle them."""

import copy
import pickle

import pytest

from integration_base.connection_failures import ConnectionFailure
from saleor_app_sdk.errors import (
    NotPermittedError,
    NotUsableError,
    NotVerifiedError,
    RegistrationRefusedError,
    SaleorError,
    SaleorRefusedError,
    SaleorUnreachableError,
    TooLateError,
)


def unreachable() -> SaleorUnreachableError:
    error = SaleorUnreachableError("Saleor has no time")
    error.connection, error.pause = ConnectionFailure.TIMED_OUT, 30.0
    return error


@pytest.mark.parametrize(
    "error",
    [
        NotPermittedError(["HANDLE_PAYMENTS", "MANAGE_APPS"]),
        NotUsableError(400, "TOO_OLD", "This request is too old."),
        NotVerifiedError("BAD_SIGNATURE", "This request is not signed."),
        RegistrationRefusedError(403, "NOT_THIS_APP", "This is another app's token."),
        SaleorRefusedError("INVALID", "amount", "It is too much."),
        TooLateError(),
        unreachable(),
    ],
    ids=lambda error: type(error).__name__,
)
def test_an_error_can_be_brought_from_another_process(error: SaleorError) -> None:
    """Job queues and pools of processes do so; an error that cannot be read there ends the pool."""
    for brought in (pickle.loads(pickle.dumps(error)), copy.deepcopy(error)):  # noqa: S301 - it is the test's own
        assert (type(brought), str(brought), vars(brought)) == (type(error), str(error), vars(error))
