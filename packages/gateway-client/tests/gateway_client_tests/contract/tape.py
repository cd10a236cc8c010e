"""Cassettes: what vcrpy keeps of the gateway's calls, and how it knows a call again.

vcrpy (seen with 9.4.2) takes its place in httpx2's own transports, so the client under test is the one that runs in
production, down to the transport. Only three things are ours: what is taken out (``scrubbing``), that bodies are
compared as JSON with exact numbers, and that only calls to the gateway are kept: the stories also steer a sandbox,
and the sandbox also calls the shop, both in this process.
"""

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import vcr  # type: ignore[import-untyped]  # vcrpy has no types
from vcr.cassette import Cassette  # type: ignore[import-untyped]  # the same
from vcr.request import Request  # type: ignore[import-untyped]  # the same

from gateway_client_tests.contract.scrubbing import GATEWAY, WEBHOOKS, Scrubber
from integration_base import exact_json
from integration_base_tests.places import REPOSITORY

CASSETTES = Path(os.environ.get("GATEWAY_CASSETTES") or REPOSITORY / "cassettes" / "gateway")
_STEERING = "/_sandbox/"


@contextmanager
def cassette(path: Path, *, addresses: Iterable[str] | None, scrubber: Scrubber) -> Iterator[Cassette]:
    """Play ``path``, or record it anew from the gateway at ``addresses``.

    While it plays, a call that is not on it is an error; while it is recorded, calls to other addresses pass by it.
    """

    def request_as_kept(request: Request) -> Request | None:
        if request.uri == WEBHOOKS:
            return request  # a webhook: signed, so it was scrubbed before
        # vcrpy asks more than once about one request, also about one that has been through these hands.
        if addresses is not None and not _of_gateway(request.uri, (*addresses, GATEWAY)):
            return None
        request.uri = scrubber.address(request.uri)
        request.headers = scrubber.request_headers(request.headers)
        request.body = scrubber.body(request.body or b"")
        return request

    def answer_as_kept(answer: dict[str, Any]) -> dict[str, Any]:
        return {
            "status": answer["status"],
            "headers": scrubber.answer_headers(answer["headers"]),
            "body": {"string": scrubber.body(answer["body"]["string"])},
        }

    recorder = vcr.VCR(
        record_mode="none" if addresses is None else "all",
        match_on=("method", "scheme", "host", "port", "path", "query", "exact_body"),
        before_record_request=request_as_kept,
        before_record_response=answer_as_kept,
        decode_compressed_response=True,
    )
    recorder.register_matcher("exact_body", _same_body)
    with recorder.use_cassette(path) as tape:
        yield tape


def interactions(path: Path) -> list[tuple[Request, dict[str, Any]]]:
    """The requests and answers on a cassette, as they lie there."""
    tape = Cassette.load(path=path)
    return list(zip(tape.requests, tape.responses, strict=True))


def _of_gateway(uri: str, addresses: Iterable[str]) -> bool:
    if _STEERING in uri:
        return False
    place = urlsplit(uri)[:2]
    return any(urlsplit(address)[:2] == place for address in addresses)


def _same_body(one: Request, other: Request) -> None:
    assert _read(one.body) == _read(other.body), f"{one.body!r} is not {other.body!r}"


def _read(body: bytes | None) -> Any:
    try:
        return exact_json.loads(body or b"null")
    except exact_json.NotJsonError:
        return body
