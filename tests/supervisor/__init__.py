"""`up` with stand-ins for the components (components.py), as real processes."""
