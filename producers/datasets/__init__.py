"""Where questions come from: files read row by row, in a seeded order."""
