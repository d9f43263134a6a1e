"""Feeder, rollout and evaluator: scripted.py plays the engine and the judge."""
