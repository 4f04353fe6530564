"""Train language models into checkpoints."""
