"""Equal answers and final answers: tables of them."""
