"""Tests of what phases say: batches, scores, wealth, and how sure that makes one."""
