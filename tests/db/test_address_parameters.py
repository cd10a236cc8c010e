"""The parameters in an address of PostgreSQL in whose place the app has its own."""

import pytest

from app.store.address_parameters import connect_timeout
from app.store.database import async_url


@pytest.mark.parametrize(
    ("parameters", "seconds"),
    [
        ("", 4),
        ("?connect_timeout=3", 3),
        ("?connect_timeout=1", 2),
        ("?connect_timeout=4", 4),
        ("?connect_timeout=60", 4),
        ("?connect_timeout=0", 4),
        ("?connect_timeout=-1", 4),
    ],
)
def test_an_address_can_shorten_the_wait_for_a_connection(parameters: str, seconds: int) -> None:
    assert connect_timeout(async_url(f"postgresql://me@example.com/shop{parameters}"), 4.9) == seconds
