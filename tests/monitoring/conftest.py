"""A shop of which operators watch the metrics."""

from collections.abc import AsyncIterator, Iterable
from dataclasses import dataclass, field

import httpx2
import pytest
from prometheus_client import Metric
from prometheus_client.openmetrics.parser import text_string_to_metric_families

from app.ops.monitoring.health import Readiness
from app.ops.monitoring.server import run_monitoring_server
from tests.payments.shop import Shop
from tests.payments.shop_fixtures import gateway, paid_shop, reserved_shop, shop

__all__ = ["gateway", "paid_shop", "reserved_shop", "shop"]

OPEN_METRICS = "application/openmetrics-text; version=1.0.0"


@dataclass
class Metrics:
    """The port for monitoring of a shop's process."""

    url: str
    readiness: Readiness
    http: httpx2.AsyncClient = field(repr=False)
    seconds: float = 0.0
    worker_is_hung: bool = False

    async def families(self) -> dict[str, Metric]:
        """Return what Prometheus reads there, by name."""
        answer = await self.http.get(f"{self.url}/metrics", headers={"Accept": OPEN_METRICS})
        assert answer.headers["content-type"].startswith("application/openmetrics-text")
        read: Iterable[Metric] = text_string_to_metric_families(answer.text)  # type: ignore[no-untyped-call] # the library does not say
        return {metric.name: metric for metric in read}

    async def value(self, sample: str, **labels: str) -> float:
        """Return one sample; 0 for one that is not there yet."""
        for family in (await self.families()).values():
            for shown in family.samples:
                if shown.name == sample and labels.items() <= shown.labels.items():
                    return float(shown.value)
        return 0.0


@pytest.fixture
async def watched(shop: Shop) -> AsyncIterator[Metrics]:
    metrics = Metrics("", Readiness(), httpx2.AsyncClient(trust_env=False))
    metrics.readiness = Readiness(shop.clock, lambda: metrics.seconds)
    address = ("127.0.0.1", 0)
    async with (
        run_monitoring_server(
            address,
            "1.2.3",
            metrics.readiness,
            shop.services.database,
            shop.clock,
            is_hung=lambda: metrics.worker_is_hung,
        ) as url,
        metrics.http,
    ):
        assert url is not None
        metrics.url = url
        yield metrics
