"""Names for the types of parameters, tables and answers."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, TypeAlias

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

#: What the native part takes as a table: an array in C order, or the parts of a CSR matrix and its number of columns.
Csr: TypeAlias = tuple[NDArray[Any], NDArray[Any], NDArray[Any], int]
Table: TypeAlias = NDArray[np.float64] | NDArray[np.float32] | Csr
#: Which table each task's targets belong to.
Targets: TypeAlias = list[tuple[int, NDArray[np.float64]]]
#: Told about stage, steps done, steps in all, violation and goal; a true answer stops the work.
Progress: TypeAlias = Callable[[str, int, int | None, float | None, float | None], bool]
#: A table of samples: an array, nested lists, a data frame, a sparse matrix.
TableLike: TypeAlias = ArrayLike | sp.spmatrix | sp.sparray
#: One table, or one table per task.
TablesLike: TypeAlias = TableLike | Sequence[TableLike]
#: Values of a parameter to try.
Grid: TypeAlias = Sequence[float] | NDArray[Any] | None
Floats: TypeAlias = NDArray[np.float64]
Labels: TypeAlias = NDArray[Any]
CalibrationMethod: TypeAlias = Literal["auto", "sigmoid", "temperature", "vector"]
ClassWeight: TypeAlias = Literal["balanced"] | Mapping[Any, float] | None
Gamma: TypeAlias = float | Literal["scale", "auto"]
KernelFunction: TypeAlias = Callable[[Any, Any], ArrayLike]
RandomState: TypeAlias = int | np.random.RandomState | None
#: What the native part says about a model, or takes as parameters.
Parts: TypeAlias = dict[str, Any]
