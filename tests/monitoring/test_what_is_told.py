"""docs/observability.md, the dashboard and the rules: every name there exists, and every name that exists is there."""

import json
import re

import pytest
import yaml
from prometheus_client import Metric

from app.store.reconciliations import RECONCILIATIONS
from integration_base_tests.pages import DOCS, OPERATORS, anchors, backticked, rows, section
from integration_base_tests.places import REPOSITORY
from tests.monitoring.conftest import Metrics
from tests.sources import log_calls

PAGE = DOCS / "observability.md"
MONITORING = REPOSITORY / "packaging" / "monitoring"
LIBRARYS = ("process_", "python_")


def name_of(family: Metric) -> str:
    """What people write in an expression: OpenMetrics has the word "info" in the sample alone."""
    return f"{family.name}_info" if family.type == "info" else family.name


def named_in(expression: str) -> set[str]:
    """The metrics of an expression, as they are told: without what the client library adds."""
    names = re.findall(r"\b(?:saleor_gateway|process|python)_[a-z_]+", expression)
    return {re.sub(r"_(?:total|bucket|count|sum)$", "", name) for name in names}


async def test_every_metric_is_told_with_its_kind_and_labels_and_no_other(watched: Metrics) -> None:
    told = {backticked(row[0])[0]: (row[1], set(backticked(row[2]))) for row in rows(section(PAGE, "## Metrics"))}
    read = (await watched.families()).values()
    families = {name_of(metric): metric for metric in read if not metric.name.startswith(LIBRARYS)}
    assert {name: kind for name, (kind, _) in told.items()} == {name: family.type for name, family in families.items()}
    for name, family in families.items():
        labels = {label for sample in family.samples for label in sample.labels} - {"le"}
        assert labels <= told[name][1], name


async def test_the_dashboard_shows_only_what_there_is(watched: Metrics) -> None:
    there = {name_of(family) for family in (await watched.families()).values()}
    dashboard = json.loads((MONITORING / "dashboard.json").read_text())
    expressions = [target["expr"] for panel in dashboard["panels"] for target in panel["targets"]]
    shown = set().union(*map(named_in, expressions))
    assert shown <= there
    assert {name for name in there if name.startswith("saleor_gateway")} <= shown
    assert len({panel["id"] for panel in dashboard["panels"]}) == len(dashboard["panels"])


async def test_every_alert_is_of_what_there_is_and_leads_to_the_run_book(watched: Metrics) -> None:
    there = {name_of(family) for family in (await watched.families()).values()}
    rules = [
        rule for group in yaml.safe_load((MONITORING / "alerts.yaml").read_text())["groups"] for rule in group["rules"]
    ]
    assert len({rule["alert"] for rule in rules}) == len(rules) > 10
    run_books = set()
    for rule in rules:
        assert named_in(rule["expr"]) <= there
        assert rule["labels"]["severity"] in {"critical", "warning"}
        assert rule["annotations"]["summary"]
        page, _, anchor = rule["annotations"]["runbook_url"].partition("#")
        assert REPOSITORY / page == OPERATORS / "alerts.md"
        assert anchor in anchors(REPOSITORY / page)
        run_books.add(anchor)
    told = re.findall(r"^## (.+)$", (OPERATORS / "alerts.md").read_text(), re.MULTILINE)
    assert {heading.lower().replace(" ", "-").replace("'", "") for heading in told} == run_books


@pytest.mark.law(13, 17)
def test_what_no_error_shows_raises_an_alert() -> None:
    """Silence, a comparison that nobody took up or that failed, and shoppers of whom none gets through."""
    groups = yaml.safe_load((MONITORING / "alerts.yaml").read_text())["groups"]
    expressions = [rule["expr"] for group in groups for rule in group["rules"]]
    # An expression about metrics that are not there has no result, so only `absent` can tell that they are missing.
    assert any("absent(up{" in expression for expression in expressions)
    assert any("absent(saleor_gateway_database_up)" in expression for expression in expressions)
    assert any(f'queue_lag_seconds{{queue="{RECONCILIATIONS.name}"}}' in expression for expression in expressions)
    assert {"max(saleor_gateway_comparisons_failed) > 0", "max(saleor_gateway_channels_turning_away) > 0"} <= {
        *expressions
    }


def test_log_lines_use_the_names_that_are_told_and_no_other() -> None:
    told = {name for row in rows(section(PAGE, "## Log lines")) for name in backticked(row[0])}
    calls = log_calls()
    assert len(calls) > 50
    used = {keyword.arg for call in calls for keyword in call.keywords if keyword.arg is not None}
    bound = {"trace_id", "webhook", "saleor", "queue", "row", "endpoint", "status", "seconds", "payment", "account"}
    assert used - told == set()
    assert told - used - bound == set()
