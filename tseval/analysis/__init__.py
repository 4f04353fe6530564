"""Accuracy, breakdowns, ranks and intervals: DataFrame in, DataFrame out."""
