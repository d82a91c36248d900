"""The synthetic experiments of the paper: its Figure 1, and why RAGE is where it is."""
