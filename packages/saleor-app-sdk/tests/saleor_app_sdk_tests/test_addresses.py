"""Whom we talk to at all."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from saleor_app_sdk.addresses import AllowList, is_api_url, origin_of

CLOUD = AllowList(["https://*.saleor.cloud/graphql/", "https://shop.example.com/graphql/"])


@pytest.mark.parametrize(
    "url",
    [
        "https://shop.example.com/graphql/",
        "https://my-shop.saleor.cloud/graphql/",
        "https://a.saleor.cloud/graphql/",
    ],
)
def test_whom_the_operator_named(url: str) -> None:
    assert CLOUD.allows(url)


@pytest.mark.threat("stranger-installs")
@pytest.mark.parametrize(
    "url",
    [
        "https://shop.example.com.evil.com/graphql/",
        "https://shop.example.com:8443/graphql/",
        "http://shop.example.com/graphql/",
        "https://shop.example.com/graphql/graphql/",
        "https://shop.example.com/graphql",
        "https://SHOP.example.com/graphql/",
        "https://shopXexample.com/graphql/",
        "https://a.b.saleor.cloud/graphql/",
        "https://.saleor.cloud/graphql/",
        "https://saleor.cloud/graphql/",
        "https://evil.com/x.saleor.cloud/graphql/",
        "https://evil.com#.saleor.cloud/graphql/",
        "https://evil.com?.saleor.cloud/graphql/",
        "https://evil.com\\.saleor.cloud/graphql/",
        "https://evil@x.saleor.cloud/graphql/",
        "https://x.saleor.cloud@evil.com/graphql/",
        "https://evil.com%2f.saleor.cloud/graphql/",
        "https://x.saleor.cloud/graphql/?",
        "https://x.saleor.cloud/graphql/#",
        "https://x.saleor.cloud/../admin/graphql/",
        "https://x.saleor.cloud//graphql/",
        "https://x.saleor.cloud/graphql/\n",
        " https://x.saleor.cloud/graphql/",
        "https://x.saleor.cloud./graphql/",
        "https://х.saleor.cloud/graphql/",  # a Cyrillic letter
        "http://127.0.0.1/graphql/",
        "http://169.254.169.254/graphql/",
        "",
    ],
)
def test_whom_the_operator_did_not_name(url: str) -> None:
    assert not CLOUD.allows(url)


def test_a_saleor_under_a_path() -> None:
    assert AllowList(["https://example.com/shops/one/graphql/"]).allows("https://example.com/shops/one/graphql/")
    assert not AllowList(["https://example.com/shops/one/graphql/"]).allows("https://example.com/shops/two/graphql/")


@pytest.mark.parametrize(
    ("entry", "same", "others"),
    [
        ("https://shop.example.com:443/graphql/", "https://shop.example.com/graphql/", ("80", "8443", "44")),
        ("http://shop.example.com:80/graphql/", "http://shop.example.com/graphql/", ("443", "8080", "8")),
        ("https://*.saleor.cloud:443/graphql/", "https://a.saleor.cloud/graphql/", ("4430",)),
    ],
)
def test_an_entry_with_the_usual_port_is_the_address_without_it_too(
    entry: str, same: str, others: tuple[str, ...]
) -> None:
    allowed = AllowList([entry])
    assert allowed.allows(same)
    assert allowed.allows(entry.replace("*", "a"))
    for port in others:
        assert not allowed.allows(same.replace("/graphql/", f":{port}/graphql/"))
    assert not AllowList([entry.replace(":443", ":8443").replace(":80/", ":8080/")]).allows(same)


@pytest.mark.parametrize(
    "entry",
    [
        "",
        "*",
        "shop.example.com",
        "https://shop.example.com",
        "https://shop.example.com/graphql",
        "https://shop.example.com/*",
        "https://*/graphql/",
        "https://*.com/graphql/",
        "https://shop.*/graphql/",
        "https://shop-*.example.com/graphql/",
        "https://**.example.com/graphql/",
        "https://*.example.com:*/graphql/",
        "https://user@shop.example.com/graphql/",
        "https://shop.example.com/*/graphql/",
    ],
)
def test_an_entry_that_says_too_much_or_nothing_is_refused_when_the_app_starts(entry: str) -> None:
    with pytest.raises(ValueError, match="allow-list"):
        AllowList([entry])


@pytest.mark.parametrize(
    "url", ["http://127.0.0.1:8000/graphql/", "http://localhost:8000/graphql/", "http://[::1]:8000/graphql/"]
)
def test_without_a_list_only_this_machine(url: str) -> None:
    assert AllowList([]).is_empty
    assert AllowList([]).allows(url)
    assert not AllowList([], is_public=True).allows(url)
    assert AllowList([url], is_public=True).allows(url)
    assert not CLOUD.allows(url)


@pytest.mark.threat("stranger-installs")
@pytest.mark.parametrize(
    "url",
    [
        "https://shop.example.com/graphql/",
        "http://127.0.0.1.evil.com/graphql/",
        "http://localhost.evil.com/graphql/",
        "http://10.0.0.1/graphql/",
        "http://0.0.0.0/graphql/",
        "http://[::]/graphql/",
        "http://169.254.169.254/graphql/",
        "http://127.1/graphql/",
        "http://2130706433/graphql/",
        "http://127.0.0.1:8000/admin/",
        "http://127.0.0.1:8000/graphql/?query=x",
        "ftp://127.0.0.1/graphql/",
    ],
)
def test_without_a_list_nobody_else(url: str) -> None:
    assert not AllowList([]).allows(url)


@pytest.mark.threat("stranger-installs", "ssrf-saleor")
@given(st.text(max_size=60))
def test_whatever_stands_around_an_allowed_address_it_is_another_one(noise: str) -> None:
    """Only the whole address counts: no prefix, no suffix, nothing in between."""
    allowed = "https://shop.example.com/graphql/"
    for url in (
        noise + allowed,
        allowed + noise,
        f"https://{noise}shop.example.com/graphql/",
        f"https://shop.example.com{noise}/graphql/",
    ):
        assert AllowList([allowed]).allows(url) is (url == allowed)


@pytest.mark.threat("stranger-installs")
@given(st.from_regex(r"https://[a-z.@:/?#\[\]%\\*-]{0,30}saleor\.cloud/graphql/", fullmatch=True))
def test_the_star_stands_for_one_label_and_nothing_else(url: str) -> None:
    label = url.removeprefix("https://").removesuffix(".saleor.cloud/graphql/")
    if CLOUD.allows(url):
        assert label
        assert not set(label) & set(".@:/?#[]%\\*")
        assert is_api_url(url)


def test_the_origin() -> None:
    assert origin_of("http://127.0.0.1:8000/shops/graphql/") == "http://127.0.0.1:8000"


def test_one_address_may_be_given_alone() -> None:
    """A text is a sequence of texts, too: it was refused for its first letter."""
    alone = AllowList("https://shop.example.com/graphql/")
    assert alone.allows("https://shop.example.com/graphql/")
    assert not alone.allows("https://other.example.com/graphql/")
    with pytest.raises(ValueError, match=r"'shop\.example\.com'; write it like"):
        AllowList("shop.example.com")
    assert AllowList("").is_empty
