"""Suites and runs for other tools, a file each: lm-eval, mixed models in R, Every Eval Ever."""
