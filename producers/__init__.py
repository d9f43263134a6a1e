"""What puts work on the stream: three components. Start with rollout.py.

feeder.py      questions; admission.py says how many, progress.py where a restart goes on, datasets/ reads
               files, references.py tries their answers and lengths.py their length before a run
rollout.py     queries to scored groups: groups.py and collapse.py make the record, batches.py feeds the loop,
               tally.py counts
evaluator.py   accuracy on held-out questions, when schedule.py says

examiner.py is what the last two have in common: tokenizer.py, engines/ that sample, judging/ that scores with
rewards/. policy.py keeps an engine on a released policy; stops.py is which tokens end a completion.

evaluation/ asks models suites of questions, and rescue/ tries hints on them, for the command line.
"""
