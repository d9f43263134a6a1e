"""What has arrived: groups off the stream, which of them make a batch, and why none comes.

stream.py reads in a thread of its own and feeds preparation.py, which gives batches: validation.py refuses
what does not fit this run, batches.py books and cuts.
"""
