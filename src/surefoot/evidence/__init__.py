"""What a phase says about "z' beats x": contrasts of batches, as scores that walks add up."""
