from tests.payments.doors import paid, shop, till

__all__ = ["paid", "shop", "till"]
