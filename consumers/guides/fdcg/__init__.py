"""Failure-driven contextual guidance (MENTOR, arXiv 2610.13594): four agents and a leak guard."""
