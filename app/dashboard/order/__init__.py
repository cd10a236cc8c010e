"""What staff see of the app on an order's page in the Dashboard: its payments, and links to pay it."""
