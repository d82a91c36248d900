"""Tests of direct comparisons."""
