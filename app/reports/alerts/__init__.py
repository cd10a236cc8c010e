"""Alerts that need a person: found (``open_alerts``) and worded (``texts``) for Dashboard, command line and Saleor."""
