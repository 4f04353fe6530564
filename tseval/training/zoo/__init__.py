"""Train every architecture on the same text in the same way, score each, and rank them."""
