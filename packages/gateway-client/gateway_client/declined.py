"""A declined operation: why, and what can be done next."""

from dataclasses import dataclass
from datetime import datetime

from gateway_client.errors import sanitize
from gateway_client.models.records import Record
from gateway_client.statuses import TABLE, CodeKind, Status, explain


@dataclass(frozen=True, slots=True)
class Declined:
    """The reason of a decline, and what can be done next.

    ``reason``: one English sentence for staff and logs. ``try_again``: another attempt (with a new order id) can
    succeed. ``retry_after``: when the gateway recommends it, UTC; ``limit``: the limit that was exceeded, in the
    gateway's words.
    """

    code: str | None
    kind: CodeKind
    reason: str
    try_again: bool
    retry_after: datetime | None
    limit: str | None

    @classmethod
    def of(cls, record: Record) -> "Declined":
        """Return the explanation of a record with status ``failure``. Raises ``ValueError`` for any other."""
        if record.status is not Status.FAILURE:
            raise ValueError(f"a record with status {record.status} is not declined")
        row, info = explain(record.status, record.status_code), record.limit_info
        known = TABLE.get(row.code) is row
        # For an unknown code the gateway's description is more specific than our text.
        description = "" if known else sanitize(record.status_description or "")
        return cls(
            code=record.status_code,
            kind=row.kind,
            reason=description or f"{row.reason}.",
            try_again=row.kind is CodeKind.RETRY,
            retry_after=info.retry_after if info else None,
            limit=sanitize(info.description or "") or None if info else None,
        )
