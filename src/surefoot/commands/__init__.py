"""One small file a command. Heavy imports stand inside the functions: `surefoot --help` stays
quick.
"""
