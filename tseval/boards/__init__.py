"""Leaderboards as folders: a definition, and entries with the evidence that their numbers follow from."""
