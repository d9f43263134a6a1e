"""The trainer on tiny policies (policies.py), and as a process on a recorded stream (recorded.py)."""
