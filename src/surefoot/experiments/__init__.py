"""The paper's experiments, and the instances they and the tests run on."""
