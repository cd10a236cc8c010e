"""What staff look for in the list of payments: read from a form or an address, written into addresses. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from urllib.parse import urlencode

from app.dashboard.payments.days import Day
from app.db.search import Wanted
from app.db.tables import PaymentStatus
from app.payments.staff.search_query import ByEmail, Typed, read


@dataclass(frozen=True, slots=True)
class Filter:
    """What staff look for. ``after`` is the gateway order with which the page before ended; "" for the first page."""

    search: str = ""
    status: PaymentStatus | None = None
    channel: str = ""
    account: str = ""
    since: Day | None = None
    until: Day | None = None
    problems: bool = False
    after: str = ""

    @classmethod
    def of(cls, said: Mapping[str, str]) -> "Filter":
        """Return what is said; what cannot be meant is left out."""
        status = said.get("status", "")
        return cls(
            search=said.get("search", "").strip()[:100],
            status=PaymentStatus(status) if status in set(PaymentStatus) else None,
            channel=said.get("channel", "")[:255],
            account=said.get("account", "")[:32],
            since=Day.read(said.get("from", "")),
            until=Day.read(said.get("to", "")),
            problems=bool(said.get("problems")),
            after=said.get("after", "")[:32],
        )

    @property
    def fields(self) -> dict[str, str]:
        """What is said of it in forms and addresses."""
        said = {
            "search": self.search,
            "status": self.status.value if self.status else "",
            "channel": self.channel,
            "account": self.account,
            "from": str(self.since or ""),
            "to": str(self.until or ""),
            "problems": "1" if self.problems else "",
            "after": self.after,
        }
        return {name: value for name, value in said.items() if value}

    @property
    def typed(self) -> Typed | None:
        """What was typed to search for."""
        return read(self.search)

    @property
    def private(self) -> bool:
        """True when it holds an e-mail address: then no address of a page may say it, only a form that is posted."""
        return isinstance(self.typed, ByEmail)

    @property
    def path(self) -> str:
        """The address of the list that shows it, below the app's own. Raises ValueError when it is private."""
        if self.private:
            raise ValueError("an e-mail address is no part of a page's address")
        return f"/payments?{urlencode(self.fields)}" if self.fields else "/payments"

    @property
    def first_page(self) -> "Filter":
        """The same from the newest on."""
        return replace(self, after="")

    def only(self, status: PaymentStatus | None = None, *, problems: bool = False) -> "Filter":
        """The newest of the same that stand so, or that need review; without either: however they stand."""
        return replace(self, status=status, problems=problems, after="")

    @property
    def more(self) -> bool:
        """True when it narrows the list by what the page does not show at first sight."""
        return any((self.channel, self.account, self.since, self.until))

    def wanted(self, installation_id: int) -> Wanted:
        """Return the same for the database, but for what was typed."""
        return Wanted(
            installation_id=installation_id,
            problems=self.problems,
            status=self.status,
            channel=self.channel or None,
            account_id=self.account or None,
            since=self.since.begins if self.since else None,
            until=self.until.ends if self.until else None,
        )
