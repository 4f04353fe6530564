"""Recurrent language models: cells, the model around them, the checkpoint format."""
