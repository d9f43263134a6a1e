"""What a process measures, and how whoever looks after it is told.

measure.py says what a metric is and catalogue/ which there are: the one place for name, unit, meaning and
what to do when it moves, from which docs/metrics.md, Grafana's files and what is served are made or checked.
readings.py holds the values of this process, health.py whether it is alive and ready, exposition.py writes
them as Prometheus reads them, server.py serves all of it, listening.py says where; page.py writes for people.

What figures come to, for whoever shows them: rates.py of several processes, limits.py from where on they are
trouble, signal.py whether anything can be learned.
"""
