"""What of a store needs a person, and what staff can do about it."""
