"""Simulators that are programs."""
