"""What the SQLite engine promises beyond the contract, down to its file."""
