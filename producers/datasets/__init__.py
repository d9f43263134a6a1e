"""Where questions come from.

base.py      what a dataset is, and its settings
reading.py   the way in: records to rows, checked
sources.py   files, folders, saved datasets, the hub; jsonl.py, parquet.py, saved.py and hub.py read them
columns.py   a record's columns as text
presets/     known datasets, whose columns need not be named; packed.py unpacks the tests of one
spool.py     rows on disk, so that memory is bounded
repeats.py   questions that are asked more than once
order.py     in which order rows are fed
"""
