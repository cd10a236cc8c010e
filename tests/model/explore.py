"""Explores all reachable states breadth first, and follows the fair future of each to its end."""

from collections import deque
from dataclasses import dataclass, field
from datetime import timedelta

from tests.model.laws import broken_laws, unequal_books, waits_for_people
from tests.model.moves import Move, moves_of, next_fair_move
from tests.model.world import World
from tests.payments.aggregates import NOON

_LONGEST_FUTURE = 400  # moves; a day and more of look-ups
_LONGEST_TIME = timedelta(days=4)  # a dispute is looked up once a day


@dataclass
class CounterExample:
    """What does not hold, and how it comes to that.

    ``story`` is from the beginning, ``future`` what follows when nothing more goes wrong.
    """

    broken: str
    story: tuple[str, ...]
    future: tuple[str, ...] = ()

    def __str__(self) -> str:
        lines = [f"  {number}. {move}" for number, move in enumerate(self.story, 1)]
        later = [f"  then {move}" for move in self.future]
        return "\n".join([self.broken, *lines, *later])


@dataclass
class Explored:
    """How much was explored. ``complete``: all that is reachable within the bounds."""

    states: int = 0
    transitions: int = 0
    depth: int = 0
    complete: bool = True
    found: list[CounterExample] = field(default_factory=list)


def explore(world: World, *, most_states: int, most_found: int = 1) -> Explored:
    """Explore everything that is reachable from ``world``, until so many states or counter-examples are found."""
    explored, ends_well = Explored(), set[bytes]()
    known = {world.key()}
    queue: deque[tuple[World, tuple[str, ...]]] = deque([(world, ())])
    while queue:
        world, story = queue.popleft()
        explored.depth = max(explored.depth, len(story))
        explored.states += 1
        found = _first_fault(world, story, ends_well)
        if found is not None:
            explored.found.append(found)
            if len(explored.found) >= most_found:
                return explored
            continue
        if not explored.complete:
            continue  # what follows is beyond the bound: most of the time would be spent on worlds that nobody looks at
        for move in moves_of(world):
            after = move.apply(world)
            explored.transitions += 1
            key = after.key()
            if key in known:
                continue
            if len(known) >= most_states:
                explored.complete = False
                break
            known.add(key)
            queue.append((after, (*story, move.name)))
    return explored


def _first_fault(world: World, story: tuple[str, ...], ends_well: set[bytes]) -> CounterExample | None:
    broken = next(broken_laws(world), None)
    if broken is not None:
        return CounterExample(broken, story)
    return _fault_of_future(world, story, ends_well)


def _fault_of_future(world: World, story: tuple[str, ...], ends_well: set[bytes]) -> CounterExample | None:
    """Return what is wrong at the end of a fair future; states from which it ends well are remembered."""
    passed: list[bytes] = []
    future: list[str] = []
    while (key := world.key()) not in ends_well:
        passed.append(key)
        move: Move | None = next_fair_move(world)
        if move is None or len(future) > _LONGEST_FUTURE:
            ends = move is None or waits_for_people(world)  # what they are told of is looked up until they settle it
            wrong = next(unequal_books(world), None) if ends else "a fair future never ends"
            if move is None and world.now - NOON > _LONGEST_TIME:
                wrong = wrong or f"13: it takes {(world.now - NOON).days} days until all has ended"
            if wrong is not None:
                return CounterExample(wrong, story, tuple(future))
            break
        if not future:
            world = world.copy()  # whose it was looks at it again, and nobody at what follows
        future.append(move.name)
        move.change(world)
        broken = next(broken_laws(world), None)
        if broken is not None:
            return CounterExample(broken, story, tuple(future))
    ends_well.update(passed)
    return None
