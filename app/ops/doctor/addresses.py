"""Checks that the app's public addresses, used by Saleor, the gateway and browsers, lead to this very app."""

import asyncio
import uuid
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

import httpx2

from app.i18n.messages import LazyMessage
from app.ops.doctor.deployment import Deployment
from app.ops.doctor.findings import Finding, Subject, connection_remedy, error, fine, warning
from app.store.database import Database
from app.store.processes import all_processes
from gateway_client.hosts import is_on_private_network
from integration_base.connection_failures import REASONS, ConnectionFailure, classify_connection_failure
from integration_base.exact_json import loads

_TIMEOUT = 6.0
_MAX_BYTES = 16 * 1024
_NOTHING_THERE = (ConnectionFailure.REFUSED, ConnectionFailure.TIMED_OUT)


@dataclass(frozen=True, slots=True)
class HealthResponse:
    """A response of the health endpoint: the HTTP status, and the process name in it, if any."""

    status: int
    process: str | None


async def check_address(deployment: Deployment, database: Database | None, saleors: Collection[str]) -> list[Finding]:
    """Check that ``APP_BASE_URL`` can be used by these ``saleors``, and leads to a process of this app.

    Without a database, the processes of this app are unknown.
    """
    return await _check(deployment, Subject.ADDRESS, deployment.base_url, database, saleors)


async def check_frame_address(
    deployment: Deployment, database: Database | None, saleors: Collection[str]
) -> list[Finding]:
    """Check ``APP_IFRAME_BASE_URL`` in the same way, if it is set."""
    if deployment.iframe_base_url is None:
        return []
    return await _check(deployment, Subject.FRAME_ADDRESS, deployment.iframe_base_url, database, saleors)


async def _check(
    deployment: Deployment, subject: Subject, address: str, database: Database | None, saleors: Collection[str]
) -> list[Finding]:
    unfit = _address_findings(subject, address, saleors)
    elsewhere = await _reachability_findings(deployment, subject, address, database)
    found = [*unfit, *elsewhere]
    return found or [fine(subject, LazyMessage("%(address)s leads to this app.", address=address))]


def _address_findings(subject: Subject, address: str, saleors: Collection[str]) -> Sequence[Finding]:
    setting = _SETTINGS[subject]
    if is_on_private_network(address):
        if all(map(is_on_private_network, saleors)):  # everything on one machine, or in one network
            return ()
        what = LazyMessage(
            "%(address)s is an address of this machine or a private network: it cannot be reached from outside.",
            address=address,
        )
        return [error(subject, what, LazyMessage("Set %(setting)s to the public address.", setting=setting))]
    if urlsplit(address).scheme != "https":
        what = LazyMessage("%(address)s is not https: what is sent to it can be read on the way.", address=address)
        remedy = LazyMessage("Put a TLS proxy in front of the app, and set %(setting)s to https.", setting=setting)
        return [error(subject, what, remedy)]
    return ()


async def _reachability_findings(
    deployment: Deployment, subject: Subject, address: str, database: Database | None
) -> Sequence[Finding]:
    """Request the health endpoint; the response must name a process that is recorded in this database."""
    try:
        answer = await _fetch_health(deployment.own_http, address)
    except (httpx2.HTTPError, TimeoutError) as exc:
        return [_connection_finding(subject, address, classify_connection_failure(exc))]
    if (wrong := _response_error(subject, address, answer)) is not None:
        return [wrong]
    if database is None:
        what = LazyMessage("The app answers at %(address)s; whether it is this copy is unknown.", address=address)
        return [warning(subject, what)]
    async with database.transaction() as session:
        known = {process.id for process in await all_processes(session)}
    if answer.process not in known:
        what = LazyMessage("Another copy of the app answers at %(address)s: it uses another database.", address=address)
        remedy = LazyMessage("Correct %(setting)s, or the destination of the proxy.", setting=_SETTINGS[subject])
        return [error(subject, what, remedy)]
    return ()


def _connection_finding(subject: Subject, address: str, failure: ConnectionFailure) -> Finding:
    if failure in _NOTHING_THERE:
        what = LazyMessage("Nothing answers at %(address)s when requested from the app's own machine.", address=address)
        remedy = LazyMessage(
            "Start the app (“saleor-gateway run”) and the proxy in front of it. If they are running, correct "
            "%(setting)s, or check whether this machine can reach its own public address.",
            setting=_SETTINGS[subject],
        )
        return error(subject, what, remedy, detail=REASONS[failure])
    what = LazyMessage(
        "%(address)s cannot be reached from the app's own machine: %(why)s.",
        address=address,
        why=LazyMessage(REASONS[failure]),
    )
    return error(subject, what, connection_remedy(failure))


def _response_error(subject: Subject, address: str, answer: HealthResponse) -> Finding | None:
    """Return a finding if the response is not the app's; None if it is."""
    if 300 <= answer.status < 400:
        what = LazyMessage(
            "%(address)s redirects elsewhere (HTTP %(status)s): Saleor and the gateway do not follow redirects.",
            address=address,
            status=answer.status,
        )
        return error(subject, what, LazyMessage("Have the proxy forward requests to the app instead."))
    if answer.status == 503 and answer.process is None:
        what = LazyMessage("The app cannot reach its database, or the proxy cannot reach the app (HTTP 503).")
        return error(subject, what, LazyMessage("Check the logs of the app and of the proxy."))
    if answer.status != 200 or answer.process is None:
        what = LazyMessage(
            "The server at %(address)s is not the app (HTTP %(status)s).", address=address, status=answer.status
        )
        remedy = LazyMessage("Correct %(setting)s, or the destination of the proxy.", setting=_SETTINGS[subject])
        return error(subject, what, remedy)
    return None


async def _fetch_health(http: httpx2.AsyncClient, address: str) -> HealthResponse:
    """Request the health endpoint at an address. Raises httpx2.HTTPError and TimeoutError."""
    body = bytearray()
    # A unique query string, so that the response is not a cached one.
    url = f"{address}/healthz?asked={uuid.uuid4().hex}"
    async with (
        asyncio.timeout(_TIMEOUT),
        http.stream("GET", url, follow_redirects=False) as response,
    ):
        async for chunk in response.aiter_bytes():
            body += chunk
            if len(body) > _MAX_BYTES:
                return HealthResponse(response.status_code, None)
    try:
        content = loads(bytes(body))
    except ValueError:
        content = None
    process = content.get("process") if isinstance(content, dict) else None
    return HealthResponse(response.status_code, process if isinstance(process, str) else None)


_SETTINGS = {Subject.ADDRESS: "APP_BASE_URL", Subject.FRAME_ADDRESS: "APP_IFRAME_BASE_URL"}
