"""A store whose every door is open to strangers: the whole app, its Saleor and its gateway on real ports."""

from tests.dashboard.conftest import counter
from tests.payments.doors import till

__all__ = ["counter", "till"]
