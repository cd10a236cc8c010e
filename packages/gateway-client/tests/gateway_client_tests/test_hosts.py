"""Which gateways and which addresses for notifications lie in a private network."""

import pytest

from gateway_client.hosts import is_on_private_network, is_webhook_reachable
from integration_base_tests.outbound import PRIVATE, PUBLIC


def address_of(host: str) -> str:
    return f"https://[{host.replace('%', '%25')}]" if ":" in host else f"https://{host}"


@pytest.mark.threat("ssrf-gateway", "ssrf-saleor")
@pytest.mark.parametrize("host", PRIVATE)
def test_private_host_is_no_gateway_and_no_place_for_notifications(host: str) -> None:
    assert is_on_private_network(address_of(host))
    assert not is_webhook_reachable(address_of(host))


@pytest.mark.parametrize("host", [*PUBLIC, "example.com"])
def test_public_host_is_both(host: str) -> None:
    assert not is_on_private_network(address_of(host))
    assert is_webhook_reachable(address_of(host))
