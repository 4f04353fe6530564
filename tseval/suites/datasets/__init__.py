"""Suites from data: sets of minimal pairs that were published as files rather than as grammars.

Each module reads one format into entries (`entries.py`); `loading.py` tells the formats apart by content.
"""
