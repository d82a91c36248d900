"""The loop of a study: workers, executors, what stops it."""
