"""How long a server wants to be left alone, by its headers."""

import pytest

from integration_base.date_header import read_retry_after

NOON, LATER = "Sun, 29 Nov 2026 12:00:00 GMT", "Sun, 29 Nov 2026 12:01:30 GMT"


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"Retry-After": " 7 "}, 7.0),
        ({"Retry-After": "0"}, 0.0),
        ({"Retry-After": "86400"}, 3600.0),
        ({"Retry-After": "9" * 400}, 3600.0),
        ({"Retry-After": LATER, "Date": NOON}, 90.0),
        ({"Retry-After": NOON, "Date": LATER}, 0.0),
        ({"Retry-After": "Mon, 30 Nov 2026 12:00:00 GMT", "Date": NOON}, 3600.0),
        ({"Retry-After": LATER}, None),
        ({"Retry-After": "soon", "Date": NOON}, None),
        ({"Retry-After": "-5"}, None),
        ({"Retry-After": "٧"}, None),
        ({}, None),
    ],
)
def test_pause_is_read_from_seconds_or_a_date_beside_the_servers_own(
    headers: dict[str, str], seconds: float | None
) -> None:
    assert read_retry_after(headers) == seconds
