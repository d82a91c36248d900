"""The problem: arms, perturbations, pairs, features, and how people write them."""
