"""Models that transformers saved: folders and files looked through, opened, and read in pieces of words."""
