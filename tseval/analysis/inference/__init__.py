"""How sure a number is where items share words: intervals, differences and ranks, clustered by lexicon entry.

`factors` and `design` say which items share which entries, `estimates` gives accuracies and their means
with intervals, `differences` sets two models against each other, `rank_sets` and `mean_ranks` say which
ranks a model may have, `seeds` averages over random seeds. Everything works on whole columns.
"""
