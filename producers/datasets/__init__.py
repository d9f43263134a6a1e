"""Where questions come from.

reading.py is the way in (format by suffix, columns checked); base.py says what a file and a Dataset are,
order.py in which order rows are fed; jsonl.py and parquet.py are the formats.
"""
