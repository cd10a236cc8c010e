"""Where a Dashboard is, and where in it an app's page is."""

import pytest

from saleor_app_sdk.dashboard_address import (
    app_page_address,
    cloud_dashboard_address,
    origin_of,
    parse_dashboard_address,
)


def test_in_saleor_cloud_the_dashboard_is_beside_the_api() -> None:
    assert cloud_dashboard_address("https://shop.eu.saleor.cloud/graphql/") == "https://shop.eu.saleor.cloud/dashboard/"


@pytest.mark.parametrize(
    "api",
    [
        "https://shop.example.com/graphql/",
        "http://shop.saleor.cloud/graphql/",
        "https://shop.saleor.cloud.example.com/graphql/",
        "https://shop.saleor.cloud:8443/graphql/",
        "https://saleor.cloud/graphql/",
        "https://shop.saleor.cloud/shops/1/graphql/",
    ],
)
def test_elsewhere_nobody_knows_where_it_is(api: str) -> None:
    assert cloud_dashboard_address(api) is None


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        ("https://dashboard.example.com", "https://dashboard.example.com/"),
        ("https://shop.example.com/dashboard/", "https://shop.example.com/dashboard/"),
        ("http://localhost:9000", "http://localhost:9000/"),
    ],
)
def test_an_address_that_somebody_gives_ends_in_one_slash(said: str, kept: str) -> None:
    assert parse_dashboard_address(said) == kept


@pytest.mark.parametrize(
    "said",
    [
        "",
        "dashboard.example.com",
        "javascript:alert(1)",
        "//dashboard.example.com/",
        "https://user:secret@dashboard.example.com/",
        "https://dashboard.example.com/?to=https://elsewhere.example.com",
        "https://dashboard.example.com/#there",
        "https://dashboard.example.com//elsewhere.example.com",
        "https://dashboard.example.com\r\nSet-Cookie: a=b",
        "https://[::1",
        "https://" + "a" * 400 + ".example.com/",
    ],
)
def test_what_is_no_address_of_a_dashboard_is_refused(said: str) -> None:
    with pytest.raises(ValueError, match="must be like"):
        parse_dashboard_address(said)


def test_the_apps_page_is_below_its_id() -> None:
    assert (
        app_page_address("https://shop.eu.saleor.cloud/dashboard/", "QXBwOjE=", "/payments/7")
        == "https://shop.eu.saleor.cloud/dashboard/extensions/app/QXBwOjE%3D/payments/7"
    )


@pytest.mark.parametrize(
    ("address", "origin"),
    [
        ("https://Dashboard.example.com/dashboard/", "https://dashboard.example.com"),
        ("https://dashboard.example.com:443/", "https://dashboard.example.com"),
        ("https://dashboard.example.com:8443/x?y#z", "https://dashboard.example.com:8443"),
        ("http://127.0.0.1:9000/dashboard/", "http://127.0.0.1:9000"),
        ("https://a.example@evil.example/", "https://evil.example"),
        ("https://a.example:port/", ""),
        ("javascript:alert(1)", ""),
        ("//a.example/", ""),
        ("null", ""),
        ("", ""),
    ],
)
def test_the_origin_of_an_address_is_written_as_browsers_do(address: str, origin: str) -> None:
    assert origin_of(address) == origin
