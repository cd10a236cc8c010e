"""Webhooks of a story: heard while it is recorded, found on the cassette afterwards.

A webhook comes the other way round, so vcrpy does not see it: it is put onto the cassette as a call to the shop. What
is personal in it is taken out, which breaks the gateway's signature, so it is verified first and then signed again
with the secret that stands on cassettes. Verifying it there is worth something all the same: the bytes on the cassette
are verified as they lie there.
"""

import asyncio
import socket
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Protocol

import uvicorn
from starlette.types import Receive, Scope, Send
from vcr.cassette import Cassette  # type: ignore[import-untyped]  # vcrpy has no types
from vcr.request import Request  # type: ignore[import-untyped]  # the same

from gateway_client.notification import read_notification
from gateway_client_tests.contract.account import ON_CASSETTES
from gateway_client_tests.contract.scrubbing import WEBHOOKS, Scrubber
from integration_base_tests.waiting import LONGEST_WAIT

FORM = "application/x-www-form-urlencoded"


class Webhooks(Protocol):
    """The webhooks of one story."""

    url: str | None

    async def take(self, count: int) -> list[bytes]:
        """The next ``count`` webhooks: the bodies as they came."""


@dataclass
class RecordedWebhooks:
    """Those of a cassette."""

    tape: Cassette
    url: str | None

    async def take(self, count: int) -> list[bytes]:
        """Played one after the other, like answers."""
        waiting = [
            request
            for number, request in enumerate(self.tape.requests)
            if request.uri == WEBHOOKS and not self.tape.play_counts[number]
        ]
        for request in waiting[:count]:
            self.tape.play_response(request)
        return [bytes(request.body) for request in waiting[:count]]


@dataclass
class WebhookListener:
    """Hears webhooks on a port of this machine and answers each 200."""

    url: str
    forms: asyncio.Queue[bytes] = field(default_factory=asyncio.Queue)

    async def __call__(self, _scope: Scope, receive: Receive, send: Send) -> None:
        """Take one."""
        form, more = b"", True
        while more:
            message = await receive()
            form, more = form + message.get("body", b""), message.get("more_body", False)
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b""})
        await self.forms.put(form)


@dataclass
class LiveWebhooks:
    """Those of a live gateway; what is taken goes onto the cassette."""

    ear: WebhookListener | None
    url: str | None
    tape: Cassette
    secrets: Iterable[str]
    scrubber: Scrubber

    async def take(self, count: int) -> list[bytes]:
        """Wait for them. ``TimeoutError`` when none comes."""
        assert self.ear is not None, "nobody listens for webhooks"
        taken = []
        for _ in range(count):
            form = await asyncio.wait_for(self.ear.forms.get(), LONGEST_WAIT)
            self._keep(form)
            taken.append(form)
        return taken

    def _keep(self, form: bytes) -> None:
        data = read_notification(form, self.secrets).data
        again = self.scrubber.webhook(data, ON_CASSETTES.api_secret)
        answer = {"status": {"code": 200, "message": "OK"}, "headers": {}, "body": {"string": b""}}
        self.tape.append(Request("POST", WEBHOOKS, again, {"Content-Type": FORM}), answer)


@asynccontextmanager
async def open_listener(port: int) -> AsyncIterator[WebhookListener]:
    """An ear at ``port`` of this machine, 0 for a free one."""
    with socket.create_server(("127.0.0.1", port)) as listener:
        ear = WebhookListener(f"http://127.0.0.1:{listener.getsockname()[1]}/gateway")
        server = uvicorn.Server(uvicorn.Config(ear, log_config=None, lifespan="off", ws="none"))
        running = asyncio.create_task(server.serve(sockets=[listener]))
        try:
            yield ear
        finally:
            server.should_exit = True
            await running
