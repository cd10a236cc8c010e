"""Every setting is read without white space and quotes around it; what is inside is looked at before the app starts."""

import pytest

from app.errors import SettingsError
from app.rules.addresses import Addresses
from app.settings import PREFIX, Settings, former_variables, read_settings
from gateway_client.models.values import absolute_url
from tests.packaging.test_compose import another_value

ADDRESSES = ("base_url", "iframe_base_url", "support_url", "privacy_url", "homepage_url")
LISTS = ("allowed_saleor_urls", "dashboard_origins")
every_setting = pytest.mark.parametrize("name", Settings.model_fields)


def read(monkeypatch: pytest.MonkeyPatch, name: str, value: str) -> object:
    monkeypatch.setenv(PREFIX + name.upper(), value)
    return getattr(read_settings(), name)


def assert_refused_in_words(monkeypatch: pytest.MonkeyPatch, name: str, value: str, words: str = "") -> None:
    """Check that a setting is refused in one line that names it; ``words``: how its reason begins."""
    with pytest.raises(SettingsError) as refusal:
        read(monkeypatch, name, value)
    assert str(refusal.value).startswith(f"{PREFIX}{name.upper()}: {words}")
    assert str(refusal.value).count("\n") == 0


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("data_dir", "~/payments"),
        ("secret_key_file", "~app/secret.key"),
        ("database_url", "sqlite:///~/payments.sqlite"),
    ],
)
def test_a_home_folder_that_no_shell_has_filled_in_is_refused(
    name: str, value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No shell reads a unit's or a container's environment: in a folder named ~ the app would begin an empty store."""
    with pytest.raises(SettingsError, match=f"{PREFIX}{name.upper()}: .*write the whole path"):
        read(monkeypatch, name, value)


@pytest.mark.parametrize("value", ["/srv/shop?", "/srv/a?b/data", "/srv/data?mode=ro"])
def test_a_folder_whose_name_would_end_the_address_of_the_database_is_refused(
    value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The database would lie beside the folder, in a file that no backup of the folder holds."""
    assert_refused_in_words(monkeypatch, "data_dir", value, "must be a path without a question mark")


@every_setting
@pytest.mark.parametrize("around", [" ", "\n", "\r\n", "\t", "\N{NO-BREAK SPACE}", '"', "'", '" '], ids=repr)
def test_white_space_and_quotes_around_a_setting_are_not_part_of_it(
    name: str, around: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = read(monkeypatch, name, another_value(name))
    assert read(monkeypatch, name, f"{around}{another_value(name)}{around}") == plain


@every_setting
@pytest.mark.parametrize("blank", ["", " ", "\n", '""', "' '"], ids=repr)
def test_a_setting_of_white_space_has_its_default(name: str, blank: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert read(monkeypatch, name, blank) == Settings.model_fields[name].default


@pytest.mark.parametrize("name", [name for name in Settings.model_fields if name not in LISTS])
def test_a_line_feed_inside_a_setting_is_refused_in_words(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    value = another_value(name)
    with pytest.raises(SettingsError) as refusal:
        read(monkeypatch, name, f"{value}\n{value}")
    assert str(refusal.value) == f"{PREFIX}{name.upper()}: must be one line, without control characters"


def test_each_entry_of_a_list_may_stand_in_quotes(monkeypatch: pytest.MonkeyPatch) -> None:
    several = "'https://dashboard.example.com', 'https://other.example.com'"
    assert read(monkeypatch, "dashboard_origins", several) == (
        "https://dashboard.example.com",
        "https://other.example.com",
    )


@pytest.mark.parametrize("name", ["Taras' and Olena's", '"', "'Ours", "'A' and 'B'"])
def test_quotes_that_are_part_of_a_text_stay(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert read(monkeypatch, "name", name) == name


def test_a_list_may_go_over_several_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    several = "https://dashboard.example.com,\n  https://other.example.com\n"
    assert read(monkeypatch, "dashboard_origins", several) == (
        "https://dashboard.example.com",
        "https://other.example.com",
    )


@pytest.mark.parametrize("name", [*ADDRESSES, *LISTS])
@pytest.mark.parametrize(
    "address",
    [
        "https://pay ments.example.com",
        "https://payments.example.com/our shop",
        "https://payments.example.com:84x",
        "https://payments.example.com:123456",
        "https://payments.example.com\N{ZERO WIDTH SPACE}",
        "https://payments\N{NO-BREAK SPACE}.example.com",
        "https:\\\\payments.example.com",
        '"https://payments.example.com',
        "https://[payments.example.com",
        "payments.example.com",
        "https://me:secret@payments.example.com",
        "https://@payments.example.com",
        "https://payments.example.com/?",
        "https://payments.example.com/#",
    ],
)
def test_an_address_that_cannot_be_used_is_refused_in_words(
    name: str, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert_refused_in_words(monkeypatch, name, address)


@pytest.mark.parametrize("name", ["base_url", "iframe_base_url", "support_url"])
@pytest.mark.parametrize(
    "address",
    [
        "https://payments.example.com,https://www.example.com",
        "https://payments.example.com;",
        "https://*.example.com",
        "https://payments..example.com",
        "https://${DOMAIN}",
        "https://<your-domain>/",
        "https://payments.example.com:0",
        "https://https://payments.example.com",
        "https://HTTP://payments.example.com",
    ],
)
def test_a_host_that_no_server_has_is_refused_in_words(
    name: str, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A list, a pattern, what was to be replaced: the gateway and Saleor would be given it, and find nobody there."""
    assert_refused_in_words(monkeypatch, name, address)


@pytest.mark.parametrize("name", ["base_url", "iframe_base_url"])
@pytest.mark.parametrize(
    "address", ["https://payments.example.com/api/manifest", "https://payments.example.com/shop/api/manifest/"]
)
def test_the_address_of_the_manifest_is_not_that_of_the_app(
    name: str, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is the one that is pasted into the Dashboard; below it, no page of ours would be found."""
    with pytest.raises(SettingsError, match="without /api/manifest at its end"):
        read(monkeypatch, name, address)


@pytest.mark.parametrize("address", ["https://payments.example.com/shop/", "http://127.0.0.1:8100", "http://[::1]:80"])
def test_an_address_that_is_accepted_is_one_that_the_gateway_client_accepts(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert absolute_url(str(read(monkeypatch, "base_url", address))) == address.rstrip("/")


@pytest.mark.parametrize(
    ("name", "written", "read_as"), [("log_level", "WARNING", "warning"), ("log_format", "Json", "json")]
)
def test_word_of_a_setting_may_be_written_in_any_case(
    name: str, written: str, read_as: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert read(monkeypatch, name, written) == read_as


@pytest.mark.parametrize(
    "origin", ["https://dashboard.example.com/", "HTTPS://Dashboard.example.com", "https://dashboard.EXAMPLE.com/"]
)
def test_origin_of_a_dashboard_may_be_copied_from_a_browser(origin: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert read(monkeypatch, "dashboard_origins", origin) == ("https://dashboard.example.com",)


@pytest.mark.parametrize("origin", ["https://example.com/dashboard/", "dashboard.example.com", "*"])
def test_what_is_no_origin_of_a_dashboard_is_refused_with_how_to_write_it(
    origin: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(SettingsError, match=r"write it like https://dashboard\.example\.com, without a path"):
        read(monkeypatch, "dashboard_origins", origin)


@pytest.mark.parametrize("name", ["host", "metrics_host"])
def test_an_address_of_ipv6_may_be_written_as_in_a_url(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """With its brackets it is the name of no machine."""
    assert read(monkeypatch, name, "[::1]") == "::1"


@pytest.mark.parametrize("name", ["base_url", "iframe_base_url"])
def test_a_host_in_cyrillic_letters_is_written_as_browsers_send_it(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Saleor accepts no other link to a payment's page, and leaves it out without a word."""
    address = str(read(monkeypatch, name, "https://Оплата.укр:8443/shop/"))
    assert address == "https://xn--80aa5alfu.xn--j1amh:8443/shop"
    assert Addresses(address).payment_page("https://shop.example.com/graphql/", "o1") is not None


@pytest.mark.parametrize("name", LISTS)
def test_an_entry_in_cyrillic_letters_is_refused_with_how_to_write_it(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(SettingsError, match="xn--"):
        read(monkeypatch, name, "https://магазин.укр/graphql/")


@pytest.mark.parametrize("value", ["inf", "-inf", "nan", "1e300", "99999999999999"])
@pytest.mark.parametrize("name", [name for name, field in Settings.model_fields.items() if field.annotation is float])
def test_a_time_that_no_calendar_holds_is_refused_in_words(
    name: str, value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise the app started, and stopped with a stack trace as soon as it added the time to today."""
    assert_refused_in_words(monkeypatch, name, value, "must be ")


def test_former_name_of_a_setting_counts_until_it_is_removed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("APP_DRAIN", " 7 ")
    monkeypatch.setenv("app_keep_personal_data", "200")
    monkeypatch.setenv("APP_OVERDUE", "")
    monkeypatch.setenv("APP_FIRST_POLL", "5")
    monkeypatch.setenv("APP_PENDING_FIRST_LOOK_UP_SECONDS", "6")
    monkeypatch.setenv("APP_FIRST_SETTLE", " ")
    monkeypatch.setenv("APP_UNKNOWN_FIRST_LOOK_UP_SECONDS", "4")
    settings = read_settings()
    assert (settings.shutdown_delay_seconds, settings.keep_personal_data_days) == (7, 200)
    assert (settings.unknown_alert_seconds, settings.pending_first_look_up_seconds) == (86400, 5)
    assert settings.unknown_first_look_up_seconds == 4
    assert former_variables() == {
        "APP_DRAIN": "APP_SHUTDOWN_DELAY_SECONDS",
        "APP_KEEP_PERSONAL_DATA": "APP_KEEP_PERSONAL_DATA_DAYS",
        "APP_FIRST_POLL": "APP_PENDING_FIRST_LOOK_UP_SECONDS",
    }


def test_wrong_value_under_a_former_name_is_refused_by_that_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("APP_DRAIN", "a minute")
    monkeypatch.setenv("APP_GATEWAY_BUDGET", "14")
    with pytest.raises(SettingsError, match=r"APP_DRAIN: .*; APP_GATEWAY_BUDGET: ") as refused:
        read_settings()
    assert "SECONDS" not in str(refused.value)


def test_every_time_among_the_settings_names_its_unit() -> None:
    in_seconds = [name for name, field in Settings.model_fields.items() if field.annotation is float]
    assert [name for name in in_seconds if not name.endswith("_seconds")] == []
