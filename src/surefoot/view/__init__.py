"""What a person looks at: charts, the report, the dashboard."""
