"""Verifiers, one a module; base.py says what each offers. They run in killable worker processes."""
