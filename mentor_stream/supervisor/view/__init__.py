"""What a run shows while it is at work: terminal.py shows it, picture.py is its looks, rows.py its words."""
