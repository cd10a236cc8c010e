from tests.payments.shop_fixtures import gateway, paid_shop, reserved_shop, shop

__all__ = ["gateway", "paid_shop", "reserved_shop", "shop"]
