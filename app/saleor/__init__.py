"""A Saleor app SDK for FastAPI: manifest, install handshake, signed webhooks, typed answers, GraphQL client.

It knows Saleor and nothing of payments here, of the gateway or of the database: what it has to remember it asks of
an ``InstallationStore`` (``app.saleor.installation``), which somebody else implements.

Where to start: ``app.saleor.app.SaleorApp``. A webhook is defined once, with its ``webhook`` decorator; the route, the
signature check, the parsed event, the recipient check and the manifest entry come from that one definition.
"""
