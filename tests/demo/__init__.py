"""The demo: a Saleor, a gateway and the app on one machine."""
