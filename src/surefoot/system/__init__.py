"""Processes, interrupts, progress, files that are whole or not there."""
