"""Leaderboards and runs as web pages that need no network and no server."""
