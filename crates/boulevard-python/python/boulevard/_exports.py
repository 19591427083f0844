"""Exports as methods of the estimators that have a readable form."""

from collections.abc import Sequence

# The writers are imported where they are used: they know the classes that have these methods.


class RuleExports:
    """Linear machines and rules in other languages."""

    def export_sql(self, table: str = "data", keep: Sequence[str] = ()) -> str:
        """The model as one SQL query, for where the data live.

        Parameters
        ----------
        table : str, default="data"
            The table with the columns that the model knows (``x1``, ``x2``, ... where it was fitted without names).
        keep : sequence of str, default=()
            Other columns of the table to hand on, such as a key.

        Returns
        -------
        query : str
            Plain SQL: one row per row of the table, with the decision values and (for classifiers) ``label``.
        """
        from .export import to_sql

        return to_sql(self, table, keep)

    def export_python(self, name: str = "predict") -> str:
        """The model as the source of a Python function that needs nothing.

        Parameters
        ----------
        name : str, default="predict"
            The function's name. It takes one row and returns the label and the decision; for regressors the number.

        Returns
        -------
        source : str
            Python text.
        """
        from .export import to_python

        return to_python(self, name)

    def export_json(self) -> str:
        """The model as plain JSON: weights of raw columns, trees of tests, constants.

        Returns
        -------
        text : str
            JSON.
        """
        from .export import to_json

        return to_json(self)


class LinearExports(RuleExports):
    """The same, and text, for machines that are linear and nothing else."""

    def export_text(self, name: str = "predict") -> str:
        """The model as a short Python text; the same as :meth:`export_python`.

        Parameters
        ----------
        name : str, default="predict"
            The name of the function.

        Returns
        -------
        source : str
            Python text.
        """
        from .export import to_python

        return to_python(self, name)
