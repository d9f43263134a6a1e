"""What a run shows while it is at work: terminal.py puts it up, picture.py is what it looks like."""
