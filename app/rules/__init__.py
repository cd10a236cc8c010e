"""What follows from what: requests to the gateway from those of Saleor, events for Saleor from its records. Pure."""
