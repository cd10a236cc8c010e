"""What a supervisor that waits for a service is told: systemd, with ``Type=notify`` (sd_notify(3))."""

import os
import socket

import structlog

log = structlog.get_logger(__name__)


def tell_ready() -> None:
    """Tell the supervisor, if one has named its address in NOTIFY_SOCKET, that the service is ready.

    One that cannot be told stops nobody: it ends the process itself if it goes on waiting.
    """
    address = os.environ.get("NOTIFY_SOCKET", "")
    if not address:
        return
    if address.startswith("@"):
        address = "\0" + address[1:]  # not in the file system
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as told:
            told.sendto(b"READY=1", address)
    except OSError as exc:
        log.warning("supervisor.not_notified", error=exc.strerror or type(exc).__name__)
