"""PRIME beside the procedures that others have for this problem, on their own test problems."""
