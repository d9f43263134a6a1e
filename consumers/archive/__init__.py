"""A run as one file, and back: `mentor-stream export` and `mentor-stream import`.

tool.py        start here: what the commands call
exporting.py, importing.py   a run out into a file, and back
recorded.py    what a run's topics hold, up to their ends, in batches
manifest.py    what an archive says of itself; tally.py counts it from the messages, account.py tells it
sinks.py, sources.py   where messages go and come from
parquet.py     the file for data scientists, columns.py its decoded columns
restored.py    messages into a stream of SQLite: a file that is used as it is, or a run in another one
settings.py    the config as it travels along
naming.py      which files there can be
draft.py       a file that appears whole or not at all

Nothing here joins a consumer group, and nothing of the run is touched.
"""
