"""Plays the story, then leaves the stage to the person."""

import asyncio
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from app.sandbox.demo.scene import NotRightError
from app.sandbox.demo.stage import Stage
from app.sandbox.demo.story import LAST_STEP, STEPS, Step, Story
from app.sandbox.demo.telling import Place, Trouble

_BETWEEN_LOOKS_AT_PROCESSES = 0.5
_LEFT_TO_TELL_TAKES_AT_MOST = 2.0


async def play_story(stage: Stage, steps: Sequence[Step] = STEPS) -> Story | None:
    """Play all steps; None when one of them went wrong, which is told then."""
    loop = asyncio.get_running_loop()
    began = loop.time()
    story = Story(stage)
    for number, step in enumerate(steps, 1):
        if not await _play(story, step, number):
            return None
    stage.teller.end(story.checks, loop.time() - began)
    return story


async def leave_open(story: Story) -> int:
    """Leave a payment page open and tell what happens, until somebody interrupts. Returns 1 if a process ends."""
    stage, urls = story.stage, story.stage.urls
    if not await _play(story, LAST_STEP, len(STEPS) + 1):
        return 1
    stage.teller.places(
        [
            Place("Payment page", story.the_page.url, "open and unpaid: pay, be declined, pass 3-D Secure, leave"),
            Place("Shop", urls.shop, "check out again, by link or QR code, or reserve; in Ukrainian too"),
            Place(
                "Dashboard", stage.saleor.dashboard_url, "a stand-in of Saleor's own: the app's pages, orders to refund"
            ),
            Place("Return page", story.return_page, "where the app tells the shopper of the first order how it went"),
            Place("Gateway", urls.gateway, "every payment and notification; play the bank and the merchant portal"),
        ],
        [f"The app's own view:  APP_DATA_DIR={stage.data} {_program()} payments list"],
    )
    ended = None
    while ended is None and not stage.following.done():
        await asyncio.wait([stage.following], timeout=_BETWEEN_LOOKS_AT_PROCESSES)
        ended = stage.ended()
    found = f"the {ended.name} has ended by itself" if ended else repr(stage.following.exception())
    stage.teller.trouble(
        _explained(Trouble(LAST_STEP.name, LAST_STEP.title, "everything runs", found), story, LAST_STEP)
    )
    return 1


async def _play(story: Story, step: Step, number: int) -> bool:
    teller = story.stage.teller
    teller.step(number, step.name, step.title)
    try:
        await step.play(story)
    except NotRightError as wrong:
        trouble = Trouble(step.name, step.title, wrong.expected, wrong.found, wrong.log_name, wrong.log)
    except Exception as exc:  # noqa: BLE001 - whatever goes wrong, the person is told where, and is left no process
        trouble = Trouble(step.name, step.title, "it goes as planned", f"{type(exc).__name__}: {exc}")
    else:
        return True
    with suppress(Exception):  # what is left to tell is a comfort, no more
        await asyncio.wait_for(story.stage.watcher.catch_up(), _LEFT_TO_TELL_TAKES_AT_MOST)
    teller.trouble(_explained(trouble, story, step))
    return False


def _explained(trouble: Trouble, story: Story, step: Step) -> Trouble:
    """Add the last words of the process that ended, or else of the one that knows most about the step."""
    if trouble.log:
        return trouble
    resident = story.stage.ended() or story.stage.residents[step.about]
    return replace(trouble, log_name=f"the {resident.name}'s log", log=resident.last_words())


def _program() -> str:
    """The command line as it was typed, so that another command can be typed like it."""
    typed = Path(sys.argv[0])
    return str(typed) if typed.name == "saleor-gateway" else f"{sys.executable} -m app.cli"
