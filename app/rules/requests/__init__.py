"""Builds requests to the gateway from Saleor's webhooks and staff's input. Pure; nothing is written yet."""
