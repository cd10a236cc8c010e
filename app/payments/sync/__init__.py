"""What became of a payment: notified, looked up, asked for by a person, or told by Saleor."""
