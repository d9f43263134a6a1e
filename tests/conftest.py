"""For every test: property tests have no deadline, since a busy machine is no defect of ours.

A test run that is terminated ends as on Ctrl-C, so that fixtures leave no process behind.
"""

import signal

from hypothesis import settings

signal.signal(signal.SIGTERM, signal.default_int_handler)

settings.register_profile("patient", deadline=None)
settings.load_profile("patient")

pytest_plugins = ["tests.cluster", "tests.lone_rank", "tests.storage"]
