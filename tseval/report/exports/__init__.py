"""Exports for other tools, one per file: lm-eval, mixed models in R, Every Eval Ever."""
