"""Adapters: one module per kind of model, imported as `tseval.adapters`."""

if __name__ != "tseval.adapters":
    raise ImportError("import tseval.adapters: the folder adapters/ is a part of the tseval package")
