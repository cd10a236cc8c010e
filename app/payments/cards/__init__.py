"""Cards that shoppers type in the storefront: the keys that seal them on the way, and the opening of the seal."""
