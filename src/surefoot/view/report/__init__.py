"""A result or a study as one HTML file that opens without the internet."""

from surefoot.view.report.page import notebook_summary, result_page, study_page

__all__ = ["notebook_summary", "result_page", "study_page"]
