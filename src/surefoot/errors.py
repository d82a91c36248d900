"""Errors and warnings that say what was given, what is needed and how to mend it."""


class InputError(ValueError):
    """The caller's input cannot be used; the message says how to mend it. Nothing was changed."""


class SurefootWarning(UserWarning):
    """Something was adjusted or looks unintended; the answer still stands."""
