"""Pictures of the demo: the pages that shoppers see, the sandbox, and what the demo tells."""

import base64
import io
import re
import tempfile
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from html import escape
from pathlib import Path
from urllib.parse import quote

from playwright.async_api import ViewportSize
from rich.console import Console
from rich.terminal_theme import TerminalTheme

from app.saleor.testing.views import NewCheckout
from app.sandbox.demo.on_terminal import TerminalTeller
from app.sandbox.demo.play import play_story
from app.sandbox.demo.stage import Stage, open_stage
from app.sandbox.demo.story import Story
from tests.journeys.stories import order_of
from tests.pages.screenshots.photographer import DESK, Photographer

COLUMNS = 120
PAY = re.compile("^Pay ")
TOLD_IN_THE_PICTURE = ("pay",)
STAFF: ViewportSize = {"width": 1000, "height": 790}
SHOPPER: ViewportSize = {"width": 440, "height": 705}

INK, PAPER = (226, 232, 240), (15, 23, 42)
_ANSI = [
    (15, 23, 42),
    (248, 113, 113),
    (74, 222, 128),
    (250, 204, 21),
    (125, 170, 255),
    (232, 150, 240),
    (103, 222, 240),
    (226, 232, 240),
]
THEME = TerminalTheme(PAPER, INK, _ANSI, _ANSI)

COMPOSITION = """<!doctype html><html lang="en"><meta charset="utf-8"><style>
* {{ box-sizing: border-box; }}
body {{ width: 1600px; margin: 0; padding: 44px 56px 56px; background: #e8eff0;
  color: #10201d; font: 24px "DejaVu Sans", sans-serif; }}
.pages {{ display: grid; grid-template-columns: 1fr 1fr 2.05fr; gap: 36px; }}
figure {{ margin: 0; }}
figcaption {{ display: flex; align-items: center; gap: 14px; margin-bottom: 16px; font-weight: 700; }}
figcaption b {{ display: grid; place-items: center; width: 40px; height: 40px; border-radius: 50%;
  background: #0b6b5f; color: #fff; font-size: 21px; }}
.window {{ overflow: hidden; border-radius: 18px; border: 1px solid #c9d5d3; }}
.pages .window {{ height: 555px; background: #f1f4f3; }}
.pages img {{ display: block; width: 100%; }}
.terminal {{ margin-top: 36px; }}
.terminal .window {{ padding: 26px 34px 30px; background: rgb(15 23 42); }}
pre {{ margin: 0; color: rgb(226 232 240); font: 19.6px/29px "DejaVu Sans Mono", monospace; }}
</style>
<div class="pages">{pages}</div>
<figure class="terminal"><figcaption><b>4</b>and the demo tells who said what to whom</figcaption>
<div class="window"><pre>{terminal}</pre></div></figure></html>"""


class Recorder(TerminalTeller):
    """Tells to a console that nobody sees, and keeps each chapter as HTML."""

    def __init__(self) -> None:
        self._tape = Console(
            file=io.StringIO(),
            record=True,
            width=COLUMNS,
            force_terminal=True,
            force_interactive=False,
            color_system="truecolor",
            markup=False,
            highlight=False,
            emoji=False,
        )
        super().__init__(self._tape)
        self.chapters: dict[str, str] = {}
        self._name = ""

    def step(self, number: int, name: str, title: str) -> None:
        """Begin a chapter: what was told before belongs to the last one."""
        self._cut()
        self._name = name
        super().step(number, name, title)

    def end(self, checks: int, seconds: float) -> None:
        """The last words are a chapter too."""
        self._cut()
        self._name = "end"
        super().end(checks, seconds)
        self._cut()

    def waiting(self, what: str) -> AbstractContextManager[object]:  # noqa: ARG002 - pictures stand still
        """Nothing."""
        return nullcontext()

    def _cut(self) -> None:
        told = self._tape.export_html(theme=THEME, inline_styles=True, code_format="{code}")
        self.chapters[self._name] = told.strip("\n")


async def payment_page(stage: Stage, language: str = "EN") -> str:
    """Begin a payment, and return the address of its page."""
    checkout = await stage.saleor.new_checkout(NewCheckout(language_code=language))
    session = await stage.saleor.initialize(checkout.id, data={"returnUrl": f"{stage.urls.shop}/back"})
    address: str = session.data["checkoutUrl"]
    return address


async def three_pages(story: Story, photographer: Photographer) -> list[tuple[str, bytes]]:
    """Photograph what a shopper sees before and after, and what staff see; with captions."""
    stage = story.stage
    (app,) = await stage.saleor.apps()
    order_id = order_of((await stage.saleor.transactions())[0])
    page_of_staff = f"{stage.saleor.dashboard_url}extensions/app/{quote(app.id)}/payments/{order_id}"
    staff = await photographer.take(await photographer.open_frame(page_of_staff, STAFF))
    # Without a script the return page stays, instead of going on to the shop.
    page = await photographer.open(await payment_page(stage), SHOPPER, script=False)
    paying = await page.screenshot()
    await page.get_by_role("button", name=PAY).click()
    await page.get_by_role("heading", name="Payment received").wait_for()
    back = await photographer.take(page)
    return [("The shopper pays", paying), ("comes back", back), ("staff see all of it", staff)]


async def pages_of_shoppers(story: Story, photographer: Photographer) -> None:
    """Take every picture but the composed one."""
    stage = story.stage
    page = await photographer.open(await payment_page(stage))
    await photographer.take(page, "payment-page.png")
    page = await photographer.open(await payment_page(stage, "UK"), dark=True)
    await photographer.take(page, "payment-page-dark.png")

    address = await payment_page(stage)
    await photographer.take(await photographer.open(address.removesuffix("form") + "qr"), "qr.png")
    page = await photographer.open(address)
    await page.get_by_label("Card number").fill("4000 0000 2102 0005")
    await page.get_by_role("button", name=PAY).click()
    await page.wait_for_url("**/3ds")
    await photographer.take(page, "3ds.png")

    address = await payment_page(stage)
    page = await photographer.open(address, script=False)
    await page.get_by_role("button", name="Not enough money").click()
    await photographer.take(page, "return-page-declined.png")
    await photographer.take(await photographer.open(address), "declined.png")

    await photographer.take(await photographer.open(story.return_page, script=False), "return-page.png")
    await photographer.take(await photographer.open(stage.urls.gateway, DESK), "sandbox.png")


async def photograph(photographer: Photographer) -> None:
    """Play the demo, and take the pictures of its pages and of what it tells."""
    recorder = Recorder()
    with tempfile.TemporaryDirectory(prefix="pictures-") as folder:
        async with open_stage(Path(folder), recorder) as stage:
            story = await play_story(stage)
            if story is None:
                raise SystemExit("the demo went wrong: saleor-gateway demo --once says how")
            pictures = await three_pages(story, photographer)
            await pages_of_shoppers(story, photographer)
    told = "\n\n".join(recorder.chapters[name] for name in (*TOLD_IN_THE_PICTURE, "end"))
    await compose(photographer, pictures, told)


async def compose(photographer: Photographer, pictures: Sequence[tuple[str, bytes]], terminal: str) -> None:
    """Put three pictures over the timeline."""
    pages = "".join(
        f"<figure><figcaption><b>{number}</b>{escape(caption)}</figcaption>"
        f'<div class="window"><img alt="" src="{_inside(picture)}"></div></figure>'
        for number, (caption, picture) in enumerate(pictures, 1)
    )
    html = COMPOSITION.format(pages=pages, terminal=terminal)
    await photographer.take_all_of(html, "demo.png", width=1600, sharpness=0.75)


def _inside(picture: bytes) -> str:
    """The picture itself as an address."""
    return f"data:image/png;base64,{base64.b64encode(picture).decode()}"
