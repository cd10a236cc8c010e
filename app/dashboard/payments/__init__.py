"""A store's payments: the list, the page of each, and what staff can do there."""
