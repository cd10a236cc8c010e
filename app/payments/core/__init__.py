"""From the gateway's word to what stands and what Saleor is told. The mapper decides; the rest carries it out."""
