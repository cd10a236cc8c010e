"""How many things wait for a person: shown at the way to them, on every page."""

from datetime import datetime, timedelta

from app.db.installations import OpenInstallation
from app.payments.alerts.items import open_items, tasks
from app.payments.services import Services

_FOR = timedelta(seconds=10)


class OpenTasks:
    """Counts for each store, and remembers it for a moment: pages are looked at more often than things go wrong."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self._counted: dict[int, tuple[datetime, int]] = {}

    async def of(self, installation: OpenInstallation) -> int:
        """Return how many things there are to do for that store."""
        counted_at, count = self._counted.get(installation.id, (None, 0))
        if counted_at is None or self._services.now() - counted_at >= _FOR:
            count = tasks(await open_items(self._services, installation))
            self._counted[installation.id] = (self._services.now(), count)
        return count

    def forget(self, installation: OpenInstallation) -> None:
        """Count anew: somebody has done something."""
        self._counted.pop(installation.id, None)
