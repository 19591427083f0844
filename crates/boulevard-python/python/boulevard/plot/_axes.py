"""Where a picture is drawn."""


def axes(ax):
    """The given axes, or new ones; says how to get matplotlib where it is missing."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError("boulevard.plot needs matplotlib: pip install matplotlib") from error
    return plt.subplots()[1] if ax is None else ax
