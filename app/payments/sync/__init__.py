"""Finding out the outcome of a payment: by notification, by look-up, on request of a person, or from Saleor."""
