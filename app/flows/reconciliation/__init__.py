"""Reconciles our books with the gateway's: finds what no notification reported, and posts it or escalates to staff."""
