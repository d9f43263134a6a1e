"""Rollout engines, one a folder, chosen by `rollout.engine.kind`; base.py is the contract.

transformers/ is the embedded default; yours is a folder here or any module of your own
(mentor_stream/plugins.py).
"""
