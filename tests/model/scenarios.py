"""What is explored: which payment, what people may wish, and how much may go wrong."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from app.core.vocabulary import Flow, Mode
from tests.model.moves import moves_of, next_fair_move
from tests.model.world import Fault, World, new_world


@dataclass(frozen=True)
class Scenario:
    """The bounds of an exploration. ``wishes`` is how often people may do each thing, by the name of the move.

    ``before``: the wishes that came true, and all that follows at once, before the exploration begins.
    """

    name: str
    flow: Flow
    wishes: Mapping[str, int]
    mode: Mode = Mode.HOSTED
    attempts: int = 1
    faults: int = 1
    before: tuple[str, ...] = ()
    allowed: frozenset[Fault] = frozenset(Fault)

    def begin(self, faults: int | None = None) -> World:
        """Return the world in which the exploration begins."""
        most = self.faults if faults is None else faults
        wishes = Counter(self.wishes) + Counter(self.before)
        world = new_world(
            self.flow, self.mode, attempts=self.attempts, wishes=wishes, faults=most, allowed=self.allowed
        )
        for wish in self.before:
            world = next(move for move in moves_of(world) if move.wish == wish).apply(world)
            while (move := next_fair_move(world)) is not None and not move.passes_time:
                world = move.apply(world)
        return world


def _wishes(**times: int) -> Mapping[str, int]:
    return MappingProxyType({name.replace("_", " "): often for name, often in times.items()})


_PAID = ("begin", "pay")

SCENARIOS = (
    Scenario("a page is paid", Flow.CHARGE, _wishes(begin=1, pay=1, come_back=1)),
    Scenario("two cards on one page", Flow.CHARGE, _wishes(decline=1, second_card=1, come_back=1), before=("begin",)),
    Scenario("the bank takes its time", Flow.CHARGE, _wishes(pending=1, decline=1, come_back=1), before=("begin",)),
    Scenario("two refunds", Flow.CHARGE, _wishes(refund_part=2, pending=1), before=_PAID),
    Scenario("the second refund is turned away", Flow.CHARGE, _wishes(refund_part=2, busy=1), before=_PAID),
    Scenario("refunds here and in the portal", Flow.CHARGE, _wishes(refund_part=1, portal_refund=1), before=_PAID),
    Scenario("a dispute turns", Flow.CHARGE, _wishes(dispute=1, decide=1, decide_again=2), before=_PAID),
    Scenario("disputed and refunded", Flow.CHARGE, _wishes(dispute=1, decide=1, refund_part=1), before=_PAID),
    Scenario("charged and refunded", Flow.AUTHORIZATION, _wishes(charge_all=1, refund_part=1), before=_PAID),
    Scenario("charged in part", Flow.AUTHORIZATION, _wishes(charge_part=1, decline=1), before=_PAID),
    Scenario("charged or released", Flow.AUTHORIZATION, _wishes(charge_all=1, cancel_all=1), before=_PAID),
    Scenario("charged by others", Flow.AUTHORIZATION, _wishes(charge_all=1, portal_capture=1), before=_PAID),
    Scenario(
        "charged and refunded by others",
        Flow.AUTHORIZATION,
        _wishes(portal_capture=1, portal_refund=2),
        before=_PAID,
    ),
    Scenario("cancelled before it is paid", Flow.CHARGE, _wishes(pay=1, cancel_all=1), before=("begin",)),
    Scenario("a card pays", Flow.CHARGE, _wishes(begin=1, pending=1, decline=1), mode=Mode.DIRECT),
    Scenario("a card is authorized", Flow.AUTHORIZATION, _wishes(begin=1, charge_all=1), mode=Mode.DIRECT),
    Scenario("a granted refund", Flow.CHARGE, _wishes(grant=2, decline=1), before=_PAID),
    Scenario("a granted refund and another", Flow.CHARGE, _wishes(grant=1, refund_part=1), before=_PAID),
    Scenario("the word on a refund turns", Flow.CHARGE, _wishes(refund_part=1, decline=1, turn=1), before=_PAID),
    Scenario("the word on a charge turns", Flow.CHARGE, _wishes(pay=1, decline=1, turn=1), before=("begin",)),
    Scenario("two attempts compete", Flow.CHARGE, _wishes(begin=1, pay=2), attempts=2, before=("begin",)),
)
