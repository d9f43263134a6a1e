"""The leak guard: no hint that contains the answer is ever published.

decision.py says what a leak is and calls the others in order: spelling.py (one spelling), numerals.py and
expressions.py (what a text says). guard.py lets it work, with a worker process for formulas.
"""
