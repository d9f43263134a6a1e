"""For every test: property tests have no deadline, since a busy machine is no defect of ours."""

from hypothesis import settings

settings.register_profile("patient", deadline=None)
settings.load_profile("patient")

pytest_plugins = ["tests.cluster"]
