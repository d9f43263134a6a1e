"""What is shown while a run is at work."""
