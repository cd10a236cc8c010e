from tests.payments.doors import gateway, paid, reserved, shop

__all__ = ["gateway", "paid", "reserved", "shop"]
