"""Rollout engines, one a module; base.py says what each offers."""
