"""The proof that a study file holds: commitments and limits as bytes, and the chain over them."""
