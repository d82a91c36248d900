"""study.toml: sections, spaces and modules of one's own."""
