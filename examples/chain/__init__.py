"""The demo's task: chains of sums, and a policy with a bad habit. Start with task.py."""
