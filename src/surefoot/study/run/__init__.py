"""The loop of a study: workers, executors, interrupts."""
