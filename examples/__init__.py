"""Worked examples. A package so that a config can name what is in it, e.g. `examples.chain.reward`."""
