"""The database: the tables, the few queries over them, the encryption of secrets at rest, the migrations.

It knows neither Saleor nor the gateway: it stores what it receives, and returns it unchanged.
"""
