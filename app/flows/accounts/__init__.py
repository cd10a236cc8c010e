"""Merchant accounts: how they are added and changed, whether they work, what the gateway says of them."""
