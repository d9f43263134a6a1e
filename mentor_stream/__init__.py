"""What every component shares: configuration, the broker, typed topics, snapshots, the supervisor.

Way in: cli.py starts things; stream.py is how a component talks; broker/base.py is the contract below it.
Imports schemas and nothing else of ours, and never torch.
"""
