"""Tests of the guides: one suite that all of them pass."""
