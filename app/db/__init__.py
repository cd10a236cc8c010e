"""The database: the tables, the few queries over them, the encryption of secrets at rest, the migrations.

It knows neither Saleor nor the gateway: what it is given it keeps, and hands back unchanged.
"""
