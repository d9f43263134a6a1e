"""What every component shares. Imports schemas and nothing else of ours, and never torch.

cli.py, commands/        what a user starts; supervisor/ is what `up` starts; tools.py finds what commands of
                         other packages do
component.py             how components are found and their config is checked; process.py is how one runs,
                         exits.py how it ends, claims.py what a run has only one of
config.py, plugins.py    sections of a run's file, and the parts that it names; prompts.py and sampling.py are
                         sections that several components read, keys.py what stands for a secret
stream.py                how a component talks: records on topics.py, over broker/; releases.py and
                         telemetry.py are what all of them hear and tell; metrics/ is what they measure
snapshots/               policies on disk and in object storage
weights/                 policies as they are sent, from trainer to servers
workers/, answers/       processes that may be killed; and equal answers, which are judged in them
disk.py, drafts.py       files that cannot be written, or appear whole or not at all
causes.py, complaints.py, legible.py, amounts.py
                         what people read: why it failed, how often, foreign text, numbers

Read stream.py first, then broker/base.py, the contract below it. Who may import whom is a table in
tests/test_imports.py.
"""
