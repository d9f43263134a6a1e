"""Whether what deploy/ holds can be started."""
