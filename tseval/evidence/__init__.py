"""Evidence of a run: the log-probabilities that its numbers follow from, without the sentences."""
