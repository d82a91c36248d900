"""The paper again: its experiments, the dosing of insulin, and the tables of both."""
