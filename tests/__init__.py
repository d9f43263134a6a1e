"""The tests, laid out as the code is. builders.py has small records, endpoint.py a scripted mentor model."""
