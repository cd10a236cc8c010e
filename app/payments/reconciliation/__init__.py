"""Our books are compared with the gateway's: what no notification has told is found, and posted or put to people."""
