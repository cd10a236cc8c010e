"""Merchant accounts: their options, whether they work, and how they are added and changed."""
