"""The demo: a Saleor, a gateway, the app and a shop on one machine, and a payment that goes through all of them."""
