"""``cache_size``: scikit-learn's default stands for the native part's own choice, every other number is a limit.

Defaults must be scikit-learn's, plain numbers that survive pickling; so the number itself has to say that nobody chose it.
"""

AUTOMATIC = 200


def megabytes(cache_size: float) -> float | None:
    """The limit for the native part, None if it chooses."""
    return None if cache_size == AUTOMATIC else float(cache_size)


def cache_size(megabytes: float | None) -> float:
    """The parameter that stands for a limit."""
    return AUTOMATIC if megabytes is None else megabytes
