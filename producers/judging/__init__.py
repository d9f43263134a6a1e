"""From completions to verdicts: verdicts.py decides, judge.py runs verifiers in worker processes."""
