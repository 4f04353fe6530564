"""The parts of `tseval.runs`: key, manifest, files, writing, reading."""
