"""What is explored: which payment, what people may wish, and how much may go wrong."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from app.core.vocabulary import Flow
from tests.model.world import Fault, World, new_world


@dataclass(frozen=True)
class Scenario:
    """The bounds of an exploration. ``wishes`` is how often people may do each thing, by the name of the move."""

    name: str
    flow: Flow
    wishes: Mapping[str, int]
    attempts: int = 1
    faults: int = 1

    def begin(self, faults: int | None = None) -> World:
        """Return the world in which nothing has happened yet."""
        most = self.faults if faults is None else faults
        return new_world(
            self.flow, attempts=self.attempts, wishes=dict(self.wishes), faults=most, allowed=frozenset(Fault)
        )


def _wishes(**times: int) -> Mapping[str, int]:
    return MappingProxyType({name.replace("_", " "): often for name, often in times.items()})


SCENARIOS = (
    Scenario("a page is paid", Flow.CHARGE, _wishes(begin=1, pay=1, come_back=1)),
    Scenario("two cards on one page", Flow.CHARGE, _wishes(begin=1, decline=1, second_card=1, come_back=1)),
    Scenario("the bank takes its time", Flow.CHARGE, _wishes(begin=1, pending=1, decline=1, come_back=1)),
    Scenario("refunds", Flow.CHARGE, _wishes(begin=1, pay=1, refund_part=2, pending=1)),
    Scenario("refunds here and in the portal", Flow.CHARGE, _wishes(begin=1, pay=1, refund_part=1, portal_refund=1)),
    Scenario("reserved, then charged", Flow.AUTHORIZATION, _wishes(begin=1, pay=1, charge_all=1, refund_part=1)),
    Scenario("charged in part", Flow.AUTHORIZATION, _wishes(begin=1, pay=1, charge_part=1, decline=1)),
    Scenario("charged and released at once", Flow.AUTHORIZATION, _wishes(begin=1, pay=1, charge_all=1, cancel_all=1)),
    Scenario("charged by others", Flow.AUTHORIZATION, _wishes(begin=1, pay=1, charge_all=1, portal_capture=1)),
    Scenario("cancelled before it is paid", Flow.CHARGE, _wishes(begin=1, pay=1, cancel_all=1)),
    Scenario("two attempts compete", Flow.CHARGE, _wishes(begin=2, pay=2), attempts=2),
)
