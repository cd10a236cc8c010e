"""The origins that may show our pages in a frame."""

import re

# A framed page of ours has no cookie and no authority of its own: its rights come from the token that the framing
# Dashboard hands it. So any Dashboard served over https may frame it and, for development, one on this machine. An
# operator who knows the Dashboard's origin can restrict this to it.
ANY_DASHBOARD = ("https:", "http://localhost:*", "http://127.0.0.1:*")

# One CSP source: a scheme, or a scheme and a host, optionally with a port. Neither '*' alone nor anything that could
# end this directive and begin another.
_SOURCE = re.compile(r"https?:(//(\*\.)?[A-Za-z0-9][A-Za-z0-9.-]*(:([0-9]{1,5}|\*))?)?")


def frame_ancestors_directive(origins: tuple[str, ...]) -> str:
    """Return the CSP directive that allows exactly these origins to frame the page; none when the tuple is empty.

    An origin is `https://dashboard.example.com`; `https://*.example.com`, `http://localhost:*` and a bare `https:`
    are accepted too. The Dashboard's origin may differ from its API's. Raises `ValueError` for anything else.
    """
    for origin in origins:
        if not _SOURCE.fullmatch(origin):
            hint = "" if origin.isascii() else "; write xn-- for letters that are not ASCII, as browsers send them"
            form = "write it like https://dashboard.example.com, without a path"
            raise ValueError(f"not an origin that may frame the Dashboard page: {origin!r}; {form}{hint}")
    return " ".join(("frame-ancestors", *(origins or ("'none'",))))
