"""Promises of speed and memory: `python -m benchmarks.NAME --json` prints an object a line, against a bare baseline."""
