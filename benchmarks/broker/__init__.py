"""The broker's promises of speed and memory: python -m benchmarks.broker --help.

load.py         what is sent, and what it took
ours.py         the load through the broker's contract
bare_kafka.py   the same through kafka-python alone
bare_sqlite.py  the same through sqlite3 alone
engines.py      where each engine's rounds take place
throughput.py   both ways, ours and bare in turn
loop_lag.py     how long others on the event loop wait meanwhile
memory.py       what a process holds after 10,000 and after 100,000 records
"""
