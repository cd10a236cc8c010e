"""The app's own addresses, as Saleor, the gateway and browsers see them: does what is there lead to this very app?"""

import asyncio
import uuid
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

import httpx2

from app.db.database import Database
from app.db.processes import all_processes
from app.doctor.deployment import Deployment
from app.doctor.findings import Finding, Subject, error, fine, warning
from app.exact_json import loads
from app.gateway.hosts import on_private_network
from app.i18n.messages import LazyMessage

_SECONDS = 6.0
_MOST_BYTES = 16 * 1024


@dataclass(frozen=True, slots=True)
class Answer:
    """What came from the health address: the HTTP status, and the process that it names, if it names one."""

    status: int
    process: str | None


async def check_address(deployment: Deployment, database: Database | None, saleors: Collection[str]) -> list[Finding]:
    """Look whether ``APP_BASE_URL`` is one that these ``saleors`` can use, and leads to a process of this app.

    Without a database nobody knows which processes there are.
    """
    return await _check(deployment, Subject.ADDRESS, deployment.base_url, database, saleors)


async def check_frame_address(
    deployment: Deployment, database: Database | None, saleors: Collection[str]
) -> list[Finding]:
    """Look at ``APP_IFRAME_BASE_URL`` in the same way, if there is one."""
    if deployment.iframe_base_url is None:
        return []
    return await _check(deployment, Subject.FRAME_ADDRESS, deployment.iframe_base_url, database, saleors)


async def _check(
    deployment: Deployment, subject: Subject, address: str, database: Database | None, saleors: Collection[str]
) -> list[Finding]:
    unfit = _unfit(subject, address, saleors)
    elsewhere = await _elsewhere(deployment, subject, address, database)
    found = [*unfit, *elsewhere]
    return found or [fine(subject, LazyMessage("%(address)s leads to this app.", address=address))]


def _unfit(subject: Subject, address: str, saleors: Collection[str]) -> Sequence[Finding]:
    setting = _SETTINGS[subject]
    if on_private_network(address):
        if all(map(on_private_network, saleors)):  # everything on one machine, or in one network
            return ()
        what = LazyMessage(
            "%(address)s is an address of this machine or a private network: from outside nobody reaches it.",
            address=address,
        )
        return [error(subject, what, LazyMessage("Set %(setting)s to the public address.", setting=setting))]
    if urlsplit(address).scheme != "https":
        what = LazyMessage("%(address)s is not https: what comes to it can be read on the way.", address=address)
        remedy = LazyMessage(
            "Put a proxy that speaks TLS before the app, and set %(setting)s to https.", setting=setting
        )
        return [error(subject, what, remedy)]
    return ()


async def _elsewhere(
    deployment: Deployment, subject: Subject, address: str, database: Database | None
) -> Sequence[Finding]:
    """Ask for the health address: who answers must name a process that is known in this database."""
    try:
        answer = await _ask(deployment.own, address)
    except (httpx2.HTTPError, TimeoutError) as exc:
        what = LazyMessage("Nobody answers at %(address)s, when asked from the app's own machine.", address=address)
        remedy = LazyMessage(
            "Start the app and the proxy before it. If they run, see whether this machine can reach its own public "
            "address."
        )
        return [error(subject, what, remedy, detail=type(exc).__name__)]
    if (wrong := _wrong(subject, address, answer)) is not None:
        return [wrong]
    if database is None:
        what = LazyMessage("The app answers at %(address)s; nobody can tell whether it is this one.", address=address)
        return [warning(subject, what)]
    async with database.transaction() as session:
        known = {each.id for each in await all_processes(session)}
    if answer.process not in known:
        what = LazyMessage(
            "Another copy of the app answers at %(address)s: it works with another database.", address=address
        )
        remedy = LazyMessage("Correct %(setting)s, or where the proxy leads.", setting=_SETTINGS[subject])
        return [error(subject, what, remedy)]
    return ()


def _wrong(subject: Subject, address: str, answer: Answer) -> Finding | None:
    """Return why it is not the app that answers so; None where it is."""
    if 300 <= answer.status < 400:
        what = LazyMessage(
            "%(address)s sends callers elsewhere (HTTP %(status)s): Saleor and the gateway follow nowhere.",
            address=address,
            status=answer.status,
        )
        return error(subject, what, LazyMessage("Let the proxy hand requests over to the app instead."))
    if answer.status == 503 and answer.process is None:
        what = LazyMessage("The app does not get through to its database, or the proxy not to the app (HTTP 503).")
        return error(subject, what, LazyMessage("See the logs of the app and of the proxy."))
    if answer.status != 200 or answer.process is None:
        what = LazyMessage(
            "What answers at %(address)s is not the app (HTTP %(status)s).", address=address, status=answer.status
        )
        remedy = LazyMessage("Correct %(setting)s, or where the proxy leads.", setting=_SETTINGS[subject])
        return error(subject, what, remedy)
    return None


async def _ask(http: httpx2.AsyncClient, address: str) -> Answer:
    """Ask for the health of whatever is there. Raises httpx2.HTTPError and TimeoutError."""
    body = bytearray()
    # A name that nobody has asked for yet: what a cache has kept is no answer.
    where = f"{address}/healthz?asked={uuid.uuid4().hex}"
    async with (
        asyncio.timeout(_SECONDS),
        http.stream("GET", where, follow_redirects=False) as response,
    ):
        async for chunk in response.aiter_bytes():
            body += chunk
            if len(body) > _MOST_BYTES:
                return Answer(response.status_code, None)
    try:
        said = loads(bytes(body))
    except ValueError:
        said = None
    process = said.get("process") if isinstance(said, dict) else None
    return Answer(response.status_code, process if isinstance(process, str) else None)


_SETTINGS = {Subject.ADDRESS: "APP_BASE_URL", Subject.FRAME_ADDRESS: "APP_IFRAME_BASE_URL"}
