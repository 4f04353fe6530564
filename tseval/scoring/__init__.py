"""Turn sentences into log-probabilities, computing each distinct prefix once."""
