"""A store's payments: the list, the page of each, and the actions of staff."""
