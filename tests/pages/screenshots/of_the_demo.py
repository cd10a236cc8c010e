"""Pictures of the demo: the pages that shoppers see, the sandbox, and what the demo tells."""

import base64
import io
import json
import re
import tempfile
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from html import escape
from pathlib import Path
from urllib.parse import quote

from playwright.async_api import ViewportSize, expect
from rich.console import Console, RenderableType
from rich.terminal_theme import TerminalTheme

from app.demo.shop import OLENA
from app.demo.stack import Stack
from app.demo.story import Demo
from app.demo.timeline import Output
from gateway_client.sandbox.settings import PointOfSale
from saleor_app_sdk.testing.views import NewCheckout
from tests.journeys.stories import order_of
from tests.journeys.wallet_shop import GATEWAY_AT_GOOGLE
from tests.pages.screenshots.photographer import DESK, Photographer
from tests.storefront_kit.test_wallets import APPLE, GOOGLE

COLUMNS = 120
PAY = re.compile("^Pay ")
TOLD_IN_THE_PICTURE = ("pay",)
STAFF: ViewportSize = {"width": 1000, "height": 790}
KIT: ViewportSize = {"width": 760, "height": 470}
SAVED: ViewportSize = {"width": 760, "height": 630}
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


class Recorder(Output):
    """Shows events to a console that nobody sees, and keeps what each step showed as HTML."""

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
        self.steps: dict[str, str] = {}
        self._name = ""

    def show_step(self, number: int, name: str, title: str) -> AbstractContextManager[object]:
        """What was shown before belongs to the step before. Pictures stand still: no spinner."""
        self._cut(name)
        self.show("step", self.format_heading(number, title))
        return nullcontext()

    def show(self, event: str, *lines: RenderableType, **values: object) -> None:
        """The last words are a part of their own."""
        if event == "end":
            self._cut(event)
        super().show(event, *lines, **values)

    def finish(self) -> None:
        """Keep what was shown last."""
        self._cut("")

    def _cut(self, name: str) -> None:
        shown = self._tape.export_html(theme=THEME, inline_styles=True, code_format="{code}")
        # Columns are filled up with blanks, which a picture does not need.
        self.steps[self._name] = "\n".join(line.rstrip() for line in shown.strip("\n").splitlines())
        self._name = name


async def payment_page(stack: Stack, language: str = "EN") -> str:
    """Begin a payment, and return the address of its page."""
    checkout = await stack.saleor.create_checkout(NewCheckout(language_code=language))
    session = await stack.saleor.initialize(checkout.id, data={"returnUrl": f"{stack.urls['shop']}/back"})
    address: str = session.data["checkoutUrl"]
    return address


async def photograph_three_pages(demo: Demo, photographer: Photographer) -> list[tuple[str, bytes]]:
    """Photograph what a shopper sees before and after, and what staff see; with captions."""
    stack = demo.stack
    (app,) = await stack.saleor.apps()
    order_id = order_of((await stack.saleor.transactions())[0])
    page_of_staff = f"{stack.saleor.dashboard_url}extensions/app/{quote(app.id)}/payments/{order_id}"
    staff = await photographer.take(await photographer.open_frame(page_of_staff, STAFF))
    # Without a script the return page stays, instead of going on to the shop.
    page = await photographer.open(await payment_page(stack), SHOPPER, script=False)
    paying = await page.screenshot()
    await page.get_by_role("button", name=PAY).click()
    await page.get_by_role("heading", name="Payment received").wait_for()
    back = await photographer.take(page)
    return [("The shopper pays", paying), ("comes back", back), ("staff see all of it", staff)]


async def photograph_shopper_pages(demo: Demo, photographer: Photographer) -> None:
    """Take every picture but the composed one."""
    stack = demo.stack
    page = await photographer.open(await payment_page(stack))
    await photographer.take(page, "payment-page.png")
    page = await photographer.open(await payment_page(stack, "UK"), dark=True)
    await photographer.take(page, "payment-page-dark.png")

    address = await payment_page(stack)
    await photographer.take(await photographer.open(address.removesuffix("form") + "qr"), "qr.png")
    page = await photographer.open(address)
    await page.get_by_label("Card number").fill("4000 0000 2102 0005")
    await page.get_by_role("button", name=PAY).click()
    await page.wait_for_url("**/3ds")
    await photographer.take(page, "3ds.png")

    address = await payment_page(stack)
    page = await photographer.open(address, script=False)
    await page.get_by_role("button", name="Not enough money").click()
    await photographer.take(page, "return-page-declined.png")
    await photographer.take(await photographer.open(address), "declined.png")

    await photographer.take(await photographer.open(demo.return_page, script=False), "return-page.png")
    await photographer.take(await photographer.open(stack.urls["gateway"], DESK), "sandbox.png")


async def photograph_payment_button(demo: Demo, photographer: Photographer) -> None:
    """Take the picture of a storefront with the kit in it, whose shopper pays with a phone."""
    page = await photographer.open(demo.stack.urls["shop"], KIT, sharpness=1)
    await page.get_by_role("button", name="Check out with the payment button").click()
    await page.get_by_role("button", name="show the QR code").click()
    code = page.get_by_role("img", name="QR code of the payment page")
    await expect(code).to_have_js_property("complete", value=True)
    await photographer.take(page, "payment-button.png")


async def photograph_saved_card(demo: Demo, photographer: Photographer) -> None:
    """Let a customer keep a card; take the picture of what they see the next time, in a browser with both wallets."""
    stack = demo.stack
    _, told, _ = await stack.run_command("accounts", "list", "--json")
    [account] = json.loads(told)
    at_google = [word for name, text in GATEWAY_AT_GOOGLE.items() for word in (f"--{name.replace('_', '-')}", text)]
    status, _, errors = await stack.run_command(
        "accounts", "set", account["id"], "--apple-pay", "--google-pay", *at_google
    )
    assert status == 0, errors
    page = await photographer.open(stack.urls["shop"], SAVED, sharpness=1)
    check_out = page.get_by_role("button", name="Check out with the payment button")
    await check_out.click()
    await page.get_by_label("Save my card for the next time").check()
    await page.get_by_role("button", name=PAY).first.click()  # the other shows the QR code
    await page.wait_for_url("**/form")
    await page.get_by_role("button", name=PAY).click()
    await page.get_by_role("heading", name="Thank you").wait_for()
    # Saleor keeps its list of cards for five minutes, unless a deletion has been requested.
    await stack.saleor.delete_method(OLENA, "app:gateway.payments.app:none")
    await page.context.add_init_script(APPLE + GOOGLE)
    await page.goto(stack.urls["shop"])
    await check_out.click()
    await expect(page.get_by_role("radio").first).to_be_checked()
    for wallet in ("Apple Pay", "Google Pay"):
        await expect(page.get_by_role("button", name=wallet, exact=True)).to_be_visible()
    await photographer.take(page, "payment-button-saved.png")


async def photograph(photographer: Photographer) -> None:
    """Play the demo, and take the pictures of its pages and of what it tells."""
    recorder = Recorder()
    with tempfile.TemporaryDirectory(prefix="pictures-") as folder:
        stack = Stack(Path(folder), recorder, PointOfSale().api_secret, free_ports=False)
        demo = Demo(stack, recorder)
        async with stack, demo.http:
            if not await demo.play():
                raise SystemExit("the demo went wrong: saleor-gateway demo --once says how")
            pictures = await photograph_three_pages(demo, photographer)
            await photograph_shopper_pages(demo, photographer)
            await photograph_payment_button(demo, photographer)
            await photograph_saved_card(demo, photographer)
    recorder.finish()
    told = "\n\n".join(recorder.steps[name] for name in (*TOLD_IN_THE_PICTURE, "end"))
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
