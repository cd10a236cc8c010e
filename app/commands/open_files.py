"""How many files this process may have open, of which connections are most.

Beyond the limit the system closes each new connection at once, and nothing in this process learns of it.
"""

import resource

import structlog

log = structlog.get_logger(__name__)

_OTHER_FILES = 300
"""Besides connections from clients: the database, Saleors, gateways, the monitoring port."""


def allow_connections(most: int) -> int:
    """Let this process open the files that ``most`` connections from clients need; return how many it can have.

    If the system allows fewer files, the connections leave the rest of the process its 300, or half of what there is.
    """
    needed = most + _OTHER_FILES
    limit = _raise_limit(needed)
    if limit >= needed:
        return most
    connections = min(most, max(limit - _OTHER_FILES, limit // 2))
    log.warning(
        "open_files.limited", limit=limit, needed=needed, max_connections=connections,
        detail="raise the hard limit of open files: ulimit -Hn, or LimitNOFILE of systemd",
    )  # fmt: skip
    return connections


def _raise_limit(needed: int) -> int:
    """Raise the soft limit to ``needed``, or as far as the hard one allows; return what counts: at most ``needed``."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY or soft >= needed:
        return needed
    wanted = needed if hard == resource.RLIM_INFINITY else min(needed, hard)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
    except (ValueError, OSError):  # macOS has a second limit below a hard one that says "unlimited"
        return soft
    return wanted
