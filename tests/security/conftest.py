"""A store whose every door is open to strangers: the whole app, its Saleor and its gateway on real ports."""

from tests.dashboard.conftest import stack
from tests.payments.shop_fixtures import gateway

__all__ = ["gateway", "stack"]
