"""A payment begins: with Saleor's session, by a link on an order, or as a trial of an account."""
