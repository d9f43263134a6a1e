"""Bytes that must not move: golden/ holds one record of each kind."""
