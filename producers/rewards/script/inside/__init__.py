"""What runs inside the sandboxes: testing.py asks what serving.py answers. It knows nothing of the rest.

values.py    values as lines of JSON, and what stays on the other side
running.py   code in a module of its own, the ends of the pipes, errors in words
cases.py     test cases of unittest

Each is on its own side of two pipes. A question is [what, of whom, ...], an answer is {"value": ...} or
{"error": [its classes, in words]}.
"""
