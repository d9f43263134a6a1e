"""The trainer's promises of speed and memory: python -m benchmarks.trainer --help.

load.py         a model and a batch
intake.py       groups off the stream into micro-batches, beside decoding alone
plain.py        the step in transformers and torch alone
peer.py         the step as TRL takes it
step.py         tokens a second, ours and others' in turn
vocabulary.py   what log-probs of long batches over large vocabularies take of memory
"""
