"""Problems as tables: pandas frames, CSV files, and lists of named values."""
