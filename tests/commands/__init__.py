"""The commands as an operator meets them: what they print, and how they exit."""
