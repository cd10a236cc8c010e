"""The rules for Prometheus as Prometheus itself evaluates them: each fires at the first of what it is about."""

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from prometheus_client import generate_latest

from app.ops.monitoring.metrics import METRICS
from integration_base_tests.places import REPOSITORY
from integration_base_tests.waiting import LONGEST_WAIT

RULES = REPOSITORY / "packaging" / "monitoring" / "alerts.yaml"
PROCESS = 'instance="shop:9108", job="saleor-gateway"'
UP = f"up{{{PROCESS}}}"
DATABASE_UP = f"saleor_gateway_database_up{{{PROCESS}}}"
FINE = {UP: "1x60", DATABASE_UP: "1x60"}


def _promtool(*words: str) -> subprocess.CompletedProcess[str]:
    found = shutil.which("promtool")
    if found is None:
        if os.environ.get("CI"):
            pytest.fail("there is no promtool")
        pytest.skip("there is no promtool")
    return subprocess.run([found, *words], capture_output=True, text=True, check=False, timeout=LONGEST_WAIT)


def _first_of(metric: str, labels: str) -> dict[str, str]:
    """Return a series of a process in which something happens for the first time after 20 minutes.

    Only a series that a process exports from its start on is there before.
    """
    exported = f"{metric}{{{labels}}} 0.0" in generate_latest(METRICS).decode()
    return {f"{metric}{{{PROCESS}, {labels}}}": "0x19 1x40" if exported else "_x19 1x40"}


@pytest.fixture(scope="module", autouse=True)
def _understood() -> None:
    said = _promtool("check", "rules", str(RULES))
    assert said.returncode == 0, said.stdout + said.stderr


@pytest.mark.parametrize(
    ("series", "fires"),
    [
        (FINE, None),
        ({UP: "1x19 0x40", DATABASE_UP: "1x60"}, "GatewayAppDown"),
        ({UP: "1x19", DATABASE_UP: "1x19"}, "NoData"),
        ({UP: "1x60"}, "NoData"),
        ({UP: "1x60", DATABASE_UP: "1x19 0x40"}, "DatabaseAway"),
        (
            FINE | _first_of("saleor_gateway_webhook_seconds_count", 'event="checkout_created",outcome="failed"'),
            "WebhooksFail",
        ),
        (FINE | _first_of("saleor_gateway_events_told_total", 'outcome="refused"'), "EventRefused"),
        (FINE | {f"saleor_gateway_comparisons_failed{{{PROCESS}}}": "0x19 1x40"}, "ComparisonFailed"),
        (FINE | {f"saleor_gateway_channels_turning_away{{{PROCESS}}}": "0x19 2x40"}, "NobodyGetsThrough"),
        (
            FINE | {f'saleor_gateway_queue_lag_seconds{{{PROCESS}, queue="saleor_events"}}': "0x19 300+60x40"},
            "QueueLags",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "" if value else "none",
)
def test_an_alert_fires_at_the_first_of_what_it_is_about(
    series: dict[str, str], fires: str | None, tmp_path: Path
) -> None:
    """All others stay silent, in every minute of the hour."""
    told = 'ALERTS{alertstate="firing"}'
    test = {
        "interval": "1m",
        "input_series": [{"series": name, "values": values} for name, values in series.items()],
        "promql_expr_test": [{"expr": told, "eval_time": f"{minute}m", "exp_samples": []} for minute in range(60)],
    }
    file = tmp_path / "test.yaml"
    file.write_text(json.dumps({"rule_files": [str(RULES)], "evaluation_interval": "1m", "tests": [test]}))
    said = _promtool("test", "rules", str(file))
    fired = set(re.findall(r'alertname="(\w+)"', said.stdout + said.stderr))
    assert fired == ({fires} if fires else set())
