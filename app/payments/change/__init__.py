"""A payment is charged, released, refunded, closed or settled by hand: whoever asks, one way leads there."""
