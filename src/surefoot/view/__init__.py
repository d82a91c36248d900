"""Views for people: charts, the report, the dashboard."""
