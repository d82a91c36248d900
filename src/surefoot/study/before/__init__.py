"""Before a study: pilots, plans and forecasts."""
