"""From the gateway's records to payment states and events for Saleor. The mapper decides; the rest carries it out."""
