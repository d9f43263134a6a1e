"""From completions to verdicts. The verifiers themselves are in rewards/.

judge.py asks (start here), worker.py answers in a process that may be killed, verdicts.py decides what counts
as wrong and what as the judge's own trouble.
"""
