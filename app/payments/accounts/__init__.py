"""Merchant accounts: what can be chosen of them, whether they work, and how they are kept."""
