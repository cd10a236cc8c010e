"""The things in a store that need a person, and what staff can do about them."""
