"""What reads the stream: the mentor and its guides."""
