"""A payment app on a real port that does what the test tells it, and remembers what it was asked."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from inspect import isawaitable
from typing import Any

from integration_base_tests.loopback import Behaviour, ReceivedRequest, json_reply, serve_replies
from saleor_app_sdk.testing.vocabulary import WebhookEvent
from saleor_app_sdk_tests.testing.recordings import recording

Answerer = Callable[[ReceivedRequest], Behaviour | Awaitable[Behaviour]]


class Stub:
    """The app. ``answers`` maps a path to one answer, to a list of answers in turn, or to a function."""

    def __init__(self) -> None:
        self.url = ""
        self.asked: list[ReceivedRequest] = []
        self.answers: dict[str, Behaviour | list[Behaviour] | Answerer] = {"/register": json_reply({"success": True})}
        self.manifest: dict[str, Any] = {}

    @property
    def manifest_url(self) -> str:
        """Where Saleor finds the manifest."""
        return f"{self.url}/manifest"

    def answer(self, event: WebhookEvent, *told: Behaviour | Answerer) -> None:
        """Answer an event: always the same, or one after the other, or what a function says."""
        [first, *more] = told
        if more:
            self.answers[f"/{event.value}"] = [item for item in told if not callable(item)]
        else:
            self.answers[f"/{event.value}"] = first

    def asked_for(self, path: str) -> list[ReceivedRequest]:
        """Return the requests to a path (an event's name without slash will do)."""
        return [asked for asked in self.asked if asked.target.strip("/") == path.strip("/")]

    async def receive(self, asked: ReceivedRequest) -> Behaviour:
        """Note a request down, and answer it."""
        self.asked.append(asked)
        if asked.target == "/manifest" and "/manifest" not in self.answers:
            return json_reply(self.manifest)
        told = self.answers.get(asked.path, json_reply({"error": "unexpected"}, 404))
        if isinstance(told, list):
            return told.pop(0)
        said = told(asked) if callable(told) else told
        return await said if isawaitable(said) else said


def manifest(url: str) -> dict[str, Any]:
    """Return the recorded manifest, its addresses moved to ``url``; a webhook's path is its event."""
    recorded: dict[str, Any] = recording("install/manifest_fetch_request")["response"]["body"]
    for hook in recorded["webhooks"]:
        hook["targetUrl"] = f"{url}/{hook['name']}"
    return {**recorded, "appUrl": f"{url}/", "tokenTargetUrl": f"{url}/register"}


@asynccontextmanager
async def open_stub() -> AsyncIterator[Stub]:
    """Serve a stub on a free port."""
    stub = Stub()
    async with serve_replies(stub.receive) as stub.url:
        stub.manifest = manifest(stub.url)
        yield stub
