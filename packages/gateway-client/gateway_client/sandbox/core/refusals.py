"""Refusals: the gateway's reasons to reject a request before anything is recorded.

RefusalError
  +-- UnknownRecordError        no such order, payment, operation, subscription or register
  +-- UnknownPathError          this gateway has no such call
  +-- DuplicateOrderError       the order id was used before, whatever the outcome
  +-- InvalidFieldsError        a field is missing or breaks its rule: (field name, violation), one or more
  +-- TooManyCallsError         one point of sale has called too often
  +-- NotPossibleError          the payment is not in a state that allows it; carries the closest status code
"""

from collections.abc import Sequence


class RefusalError(Exception):
    """Root of the tree above. `code` is the `args.code` of the response."""

    code = "P-400"

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


class UnknownRecordError(RefusalError):
    """There is no record with that identifier."""

    code = "P-404"


class UnknownPathError(RefusalError):
    """There is no such call: the web server of the gateway says so, in a form of its own."""

    code = "R-404"

    def __init__(self) -> None:
        super().__init__("Not Found")


class DuplicateOrderError(RefusalError):
    """The order id is used up: every attempt uses it up, even one that was refused."""

    code = "P-409"

    def __init__(self) -> None:
        super().__init__("Payment with this order_id already exists")


class TooManyCallsError(RefusalError):
    """Too many calls: retry after a while (HTTP 429)."""

    code = "P-429"

    def __init__(self) -> None:
        super().__init__("Too many requests")


class InvalidFieldsError(RefusalError):
    """One or more fields break their rule."""

    def __init__(self, violations: Sequence[tuple[str, str]]) -> None:
        self.violations = tuple(violations)
        super().__init__(f"Invalid {self.violations[0][0]} provided")


class NotPossibleError(RefusalError):
    """The operation does not fit the payment's state or amounts."""

    def __init__(self, message: str, status_code: str) -> None:
        super().__init__(message)
        self.status_code = status_code
        self.code = f"P-{status_code}"
