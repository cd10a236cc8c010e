"""Version ranges as npm writes them."""

import pytest

from saleor_app_sdk.testing.npm_range import BadRangeError, satisfies


@pytest.mark.parametrize(
    ("wanted", "version", "lies_in"),
    [
        (">=3.20 <4", "3.23.28", True),
        (">=3.20 <4", "4.0.0", False),
        (">= 3.20 < 4", "3.19.9", False),
        ("^3.21", "3.23.28", True),
        ("^3.24", "3.23.28", False),
        ("^3", "4.0.0", False),
        ("^0.3.1", "0.3.9", True),
        ("^0.3.1", "0.4.0", False),
        ("^0.0.3", "0.0.4", False),
        ("~3.23.4", "3.23.28", True),
        ("~3.23.4", "3.24.0", False),
        ("~3.22", "3.23.0", False),
        ("3.20 - 3.24", "3.24.7", True),
        ("3.20 - 3.24", "3.25.0", False),
        ("3.x", "3.23.28", True),
        ("3.22.x || 3.23.x", "3.23.28", True),
        ("3.22.x || 3.24.x", "3.23.28", False),
        (">3.23", "3.23.28", False),
        (">3.22", "3.23.0", True),
        ("<=3.23", "3.23.28", True),
        ("*", "3.23.28", True),
        ("3.23.28", "3.23.28", True),
        ("=3.23.27", "3.23.28", False),
        (">=3.24.0-a.0", "3.24.0-a.0", True),
    ],
)
def test_range(wanted: str, version: str, lies_in: bool) -> None:
    assert satisfies(version, wanted) is lies_in


def test_garbage_is_no_range() -> None:
    with pytest.raises(BadRangeError):
        satisfies("3.23.28", "newest please")
    with pytest.raises(BadRangeError):
        satisfies("newest", "*")
