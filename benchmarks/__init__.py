"""Promises of speed and memory, each against a bare baseline: python -m benchmarks.NAME --json."""
