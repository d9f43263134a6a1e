"""The mentor: reads collapsed groups, answers with guided queries. Start with mentor.py.

Others that read a run's stream, and touch nothing of it: tail/ as it goes by, monitor/ as a page, replay/ to
teach recorded failures again, comparison/ to put two runs' hints side by side, archive/ to have a run in one
file; following.py reads for them.

casework.py is what it decides, backlog.py which case is next, teaching.py a guide at work, returned.py what
may come of it, guides/ who writes the hint (fdcg/ is the paper's), leak/ what keeps the answer out of it,
budget.py its length, publishing.py what goes onto the stream, grace.py its time to end there, tally.py its
counts, effort.py what a case took of its guide, spending.py what that has spent before, refusals.py whether
nearly all it writes is refused; config.py is section [mentor].

For guides that ask language models: chat/ asks, sheet.py is what they are told of a case and evidence.py of
its attempts, drafts.py tells what is no hint (by repetition.py and scripts.py, too), calls.py keeps what was
asked.
"""
