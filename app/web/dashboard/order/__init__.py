"""The app's widget on an order's page in the Dashboard: the order's payments, and links to pay it."""
