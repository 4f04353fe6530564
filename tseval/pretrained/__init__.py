"""Transformers models: safe opening of folders and files, and sentences in the pieces of their tokenizers."""
