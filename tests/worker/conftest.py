from tests.payments.shop_fixtures import gateway, paid, reserved, shop

__all__ = ["gateway", "paid", "reserved", "shop"]
