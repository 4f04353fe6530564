"""Scoring: log-probabilities of sentences, with one computation for each distinct prefix."""
