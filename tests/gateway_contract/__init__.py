"""What of the gateway's interface the whole project keeps to; the client's own stories are in its package."""
