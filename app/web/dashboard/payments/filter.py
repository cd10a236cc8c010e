"""The filter of the list of payments: read from a form or an address, written into addresses. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar
from urllib.parse import urlencode

from app.core.vocabulary import PaymentStatus
from app.reports.search_query import ByEmail, ParsedQuery, parse_query
from app.store.search import PaymentFilter
from app.web.dashboard.payments.days import Day


@dataclass(frozen=True, slots=True)
class Filter:
    """The filter. ``after`` is the last gateway order of the previous page; "" for the first page."""

    longest_search: ClassVar[int] = 500  # a link with all its parameters; the longest e-mail address has 254

    search: str = ""
    status: PaymentStatus | None = None
    channel: str = ""
    account: str = ""
    since: Day | None = None
    until: Day | None = None
    problems: bool = False
    after: str = ""

    @classmethod
    def from_params(cls, params: Mapping[str, str]) -> "Filter":
        """Return the filter in these fields; invalid values are ignored."""
        status = params.get("status", "")
        return cls(
            search=params.get("search", "").strip()[: cls.longest_search],
            status=PaymentStatus(status) if status in set(PaymentStatus) else None,
            channel=params.get("channel", "")[:255],
            account=params.get("account", "")[:32],
            since=Day.parse(params.get("from", "")),
            until=Day.parse(params.get("to", "")),
            problems=bool(params.get("problems")),
            after=params.get("after", "")[:32],
        )

    @property
    def fields(self) -> dict[str, str]:
        """Its fields in forms and addresses."""
        params = {
            "search": self.search,
            "status": self.status.value if self.status else "",
            "channel": self.channel,
            "account": self.account,
            "from": str(self.since or ""),
            "to": str(self.until or ""),
            "problems": "1" if self.problems else "",
            "after": self.after,
        }
        return {name: value for name, value in params.items() if value}

    @property
    def typed(self) -> ParsedQuery | None:
        """The parsed search text."""
        return parse_query(self.search)

    @property
    def private(self) -> bool:
        """True when it contains an e-mail address: then no page address may contain it, only a form that is posted."""
        return isinstance(self.typed, ByEmail)

    @property
    def path(self) -> str:
        """The address of the list with this filter, below the app's own. Raises ValueError when it is private."""
        if self.private:
            raise ValueError("an e-mail address is no part of a page's address")
        return f"/payments?{urlencode(self.fields)}" if self.fields else "/payments"

    @property
    def first_page(self) -> "Filter":
        """The same filter, from the newest payment on."""
        return replace(self, after="")

    def only(self, status: PaymentStatus | None = None, *, problems: bool = False) -> "Filter":
        """Return this filter's first page for one status, or for payments that need review; with neither, for all."""
        return replace(self, status=status, problems=problems, after="")

    @property
    def more(self) -> bool:
        """True when it narrows the list by fields that the page does not show at first sight."""
        return any((self.channel, self.account, self.since, self.until))

    def criteria(self, installation_id: int) -> PaymentFilter:
        """Return the same filter for the database, without the search text."""
        return PaymentFilter(
            installation_id=installation_id,
            problems=self.problems,
            status=self.status,
            channel=self.channel or None,
            account_id=self.account or None,
            since=self.since.begins if self.since else None,
            until=self.until.ends if self.until else None,
        )
