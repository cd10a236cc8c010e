"""A shopper's browser, as far as links, forms and redirects go; it runs no JavaScript."""

from dataclasses import dataclass, field
from html.parser import HTMLParser
from urllib.parse import urljoin

import httpx2

_WORDS = frozenset({"h1", "h2", "p", "a", "button", "title", "dd", "td"})
_NOT_SENT = frozenset({"submit", "button", "reset", "image", "file"})


@dataclass(frozen=True, slots=True)
class Button:
    """A button of a form, by its label."""

    label: str
    name: str
    value: str


@dataclass(slots=True)
class Form:
    """A form with its current values."""

    action: str
    fields: dict[str, str] = field(default_factory=dict)
    buttons: list[Button] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Page:
    """A response: words, links and forms; or ``redirect``, the address of a redirect."""

    url: str
    status: int
    heading: str
    words: str
    links: tuple[tuple[str, str], ...]
    forms: tuple[Form, ...]
    redirect: str | None

    def link(self, label: str) -> str:
        """The address behind a link. Raises LookupError."""
        for written, address in self.links:
            if written == label:
                return address
        raise LookupError(f"no link “{label}” on {self.url} ({self.heading})")

    def button(self, label: str) -> tuple[Form, Button]:
        """The first button that begins with these words, and its form. Raises LookupError."""
        for form in self.forms:
            for button in form.buttons:
                if button.label.startswith(label):
                    return form, button
        raise LookupError(f"no button “{label}” on {self.url} ({self.heading})")


class Browser:
    """Opens pages and presses buttons. Redirects are not followed automatically, so that a test sees each step."""

    def __init__(self, http: httpx2.AsyncClient) -> None:
        self._http = http

    async def open(self, url: str) -> Page:
        """Open an address. Raises httpx2.HTTPError."""
        return parse_page(await self._http.get(url))

    async def press(self, page: Page, label: str, **typed: str) -> Page:
        """Type into the fields of a form and press a button of it. Raises LookupError and httpx2.HTTPError."""
        form, button = page.button(label)
        sent = {**form.fields, **typed, **({button.name: button.value} if button.name else {})}
        return parse_page(await self._http.post(form.action, data=sent))


def parse_page(response: httpx2.Response) -> Page:
    """Return what a person sees of a response."""
    url = str(response.url)
    reader = _Reader(url)
    if "html" in response.headers.get("content-type", ""):
        reader.feed(response.text)
        reader.close()
    location = response.headers.get("location")
    return Page(
        url=url,
        status=response.status_code,
        heading=reader.heading,
        words=" ".join(reader.words),
        links=tuple(reader.links),
        forms=tuple(reader.forms),
        redirect=urljoin(url, location) if location and response.is_redirect else None,
    )


class _Reader(HTMLParser):
    """Collects the text, links and forms of a page."""

    def __init__(self, url: str) -> None:
        super().__init__()
        self.links: list[tuple[str, str]] = []
        self.forms: list[Form] = []
        self.words: list[str] = []
        self.heading = ""
        self._url = url
        self._inside: list[tuple[str, dict[str, str], list[str]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        if tag == "form":
            self.forms.append(Form(urljoin(self._url, given.get("action", "") or self._url)))
        elif tag == "input" and self.forms and given.get("name"):
            chosen = given.get("type") not in {"radio", "checkbox"} or "checked" in given
            if chosen and given.get("type") not in _NOT_SENT:
                self.forms[-1].fields[given["name"]] = given.get("value", "")
        elif tag in _WORDS:
            self._inside.append((tag, given, []))

    def handle_data(self, data: str) -> None:
        if text := data.strip():
            self.words.append(text)
            for _, _, words in self._inside:
                words.append(text)

    def handle_endtag(self, tag: str) -> None:
        if not self._inside or self._inside[-1][0] != tag:
            return
        _, given, words = self._inside.pop()
        label = " ".join(words)
        if tag == "h1" and not self.heading:
            self.heading = label
        elif tag == "a" and "href" in given:
            self.links.append((label, urljoin(self._url, given["href"])))
        elif tag == "button" and self.forms:
            self.forms[-1].buttons.append(Button(label, given.get("name", ""), given.get("value", "")))
