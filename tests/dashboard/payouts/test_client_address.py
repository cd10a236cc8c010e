"""From which address a payout was requested and confirmed: the audit trail does not believe the browser."""

from collections.abc import Sequence

import pytest
from starlette.requests import Request

from app.web.client_address import client_address

OURS = "X-Forwarded-For"
CONNECTION = ("192.0.2.1", 50000)
CLAIMED, SEEN = "198.51.100.66", "203.0.113.9"


def a_request(*forwarded: str, client: tuple[str, int] | None = CONNECTION) -> Request:
    """Return a request with these lines of the header, the first as sent by the browser."""
    headers = [(OURS.lower().encode(), header.encode()) for header in forwarded]
    return Request({"type": "http", "headers": headers, "client": client})


@pytest.mark.threat("dishonest-staff")
@pytest.mark.parametrize(
    ("forwarded", "address"),
    [
        ([SEEN], SEEN),
        ([f"{CLAIMED}, {SEEN}"], SEEN),
        ([f"{CLAIMED},{CLAIMED} ,  {SEEN} "], SEEN),
        ([CLAIMED, SEEN], SEEN),
        ([f"{SEEN}, {CLAIMED}", f"{CLAIMED}, {SEEN}"], SEEN),
        (["2001:DB8::9"], "2001:db8::9"),
        ([f"{CLAIMED}, {SEEN}:52344"], SEEN),
        ([f"::ffff:{SEEN}"], SEEN),
        ([], CONNECTION[0]),
        ([""], CONNECTION[0]),
        ([f"{CLAIMED}, unknown"], CONNECTION[0]),
        ([f"{CLAIMED},"], CONNECTION[0]),
    ],
)
def test_only_what_our_own_proxy_has_added_last_counts(forwarded: Sequence[str], address: str) -> None:
    assert client_address(a_request(*forwarded), OURS) == address


@pytest.mark.threat("dishonest-staff")
@pytest.mark.parametrize(
    ("forwarded", "address"),
    [
        ([f"for={SEEN};host=pay.example.com;proto=https"], SEEN),  # as of AWS
        ([f"by=10.0.0.1; For={SEEN}:52344"], SEEN),
        ([f"for={CLAIMED}, for={SEEN};by=10.0.0.1"], SEEN),
        ([f"for={CLAIMED}", f"proto=https;for={SEEN}"], SEEN),
        (['for="[2001:DB8::9]:47011";proto=https'], "2001:db8::9"),
        ([f'for={SEEN};host="x,for={CLAIMED}"'], SEEN),
        ([f'for={SEEN};host="x\\",for={CLAIMED}"'], SEEN),
        ([f'host="x;for={CLAIMED}";for={SEEN}'], SEEN),
        ([f"for={CLAIMED}, for=_hidden;by=10.0.0.1"], CONNECTION[0]),
        ([f"for={CLAIMED}, proto=https"], CONNECTION[0]),
        # Quotes that the caller opens, and the proxy's own close: its element is whole, whatever is before it.
        ([f'for={CLAIMED};x="', 'for="[2001:db8::9]";proto=https'], "2001:db8::9"),
        ([f'for={CLAIMED};x="', 'for="[2001:db8::9]";host="x\\""'], "2001:db8::9"),
        ([f'for={CLAIMED};x="\\', 'for="[2001:db8::9]:47011"'], "2001:db8::9"),
        ([f'for={CLAIMED};x="', f'for={SEEN};host="x,\\",for={CLAIMED}\\\\"'], SEEN),
    ],
)
def test_standard_header_names_the_client_in_its_last_element(forwarded: Sequence[str], address: str) -> None:
    assert client_address(a_request(*forwarded), OURS) == address


@pytest.mark.threat("dishonest-staff")
def test_without_a_proxy_that_the_operator_has_named_no_header_counts() -> None:
    assert client_address(a_request(CLAIMED), None) == CONNECTION[0]


@pytest.mark.parametrize("client", [None, ("", 0), ("/run/app.sock", 0)])
def test_a_socket_of_this_machine_has_its_address(client: tuple[str, int] | None) -> None:
    assert client_address(a_request(client=client), None) == "127.0.0.1"
