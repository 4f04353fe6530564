"""The zero-shot tasks of the BabyLM challenge (Choshen et al. 2026), and the predictions that are handed in.

The protocol is that of its evaluation pipeline of 2025 and 2026, `sentence_zero_shot`. docs/babylm.md says
what each task compares, and what shows that the predictions are the same.
"""
