"""A declined operation, as the shopper and the staff should hear of it."""

from dataclasses import dataclass
from datetime import datetime

from app.gateway.errors import quoted
from app.gateway.models.records import Record
from app.gateway.statuses import TABLE, Kind, Status, StatusCode, explain


@dataclass(frozen=True, slots=True)
class Declined:
    """Why, in words, and what next.

    ``try_again``: another attempt (a new order id) can succeed. ``retry_after``: when the gateway recommends it,
    UTC; ``limit``: which limit it was, in the gateway's words, for staff.
    """

    code: str | None
    row: StatusCode
    staff: str
    try_again: bool
    retry_after: datetime | None
    limit: str | None

    @classmethod
    def of(cls, record: Record) -> "Declined":
        """Of a record with status ``failure``; ``ValueError`` for any other."""
        if record.status is not Status.FAILURE:
            raise ValueError(f"a record with status {record.status} is not declined")
        row, info = explain(record.status, record.status_code), record.limit_info
        known = TABLE.get(row.code) is row
        # Of a code that we do not know the gateway's own words say more than ours.
        said = "" if known else quoted(record.status_description or "")
        return cls(
            code=record.status_code,
            row=row,
            staff=said or row.staff,
            try_again=row.kind is Kind.RETRY,
            retry_after=info.retry_after if info else None,
            limit=quoted(info.description or "") or None if info else None,
        )

    def shopper(self, language: str) -> str:
        """The words for the shopper: Ukrainian or English."""
        return self.row.shopper(language)
