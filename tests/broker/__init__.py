"""The contract, run against every engine (conftest.py); what is an engine's own in kafka/, sqlite/; chaos/ kills."""
