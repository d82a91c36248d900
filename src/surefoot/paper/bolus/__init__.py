"""Robust dose identification: the bolus calculators of virtual patients."""
