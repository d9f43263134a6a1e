"""The whole system as processes, on real brokers."""
