"""What follows for a payment from each thing that happens, decided on plain objects under the payment's lock. Pure."""
