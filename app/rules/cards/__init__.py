"""Cards that shoppers type in the storefront: the keys that seal them in transit, and opening sealed cards."""
