from tests.payments.doors import paid, reserved, shop, till

__all__ = ["paid", "reserved", "shop", "till"]
