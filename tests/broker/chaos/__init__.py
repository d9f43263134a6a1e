"""Crash tests: workers under load, a killer among them, and a verdict over what their journals say.

journal.py   what each worker writes down, where no crash takes it back
workers.py   the processes: producers, consumers, and a watcher of the group's commits
killer.py    kills and stalls them by a plan, and puts others in their place
verdict.py   whether the contract was kept: a pure function over the journals and the log
"""
