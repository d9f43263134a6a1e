"""The mentor's promises of speed and memory: python -m benchmarks.mentor --help.

endpoint.py     a scripted OpenAI-compatible server that takes two seconds for a reply, a process of its own
cases.py        collapsed groups on a stream, and a mentor process that works on them
bare.py         the openai client alone, as many requests at a time
throughput.py   requests a second, the mentor's and bare in turn, and of several mentors
memory.py       what a mentor holds while it works through a backlog
"""
