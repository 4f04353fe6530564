"""What a suite asks of a model, and how numbers answer it."""
