"""The trainer's promises of speed and memory: python -m benchmarks.trainer --help.

load.py         a model and a batch
intake.py       groups off the stream into micro-batches, beside decoding alone
sharing.py      a batch among data-parallel ranks, beside all of it for each
plain.py        the step in transformers and torch alone
peer.py         the step as TRL takes it
step.py         tokens a second, ours and others' in turn; what packing takes of a step
vocabulary.py   what log-probs of long batches over large vocabularies take of memory
"""
