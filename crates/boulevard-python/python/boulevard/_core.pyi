"""Types of the native part."""

from collections.abc import Callable
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import NDArray

__version__: str

Csr = tuple[NDArray[np.integer], NDArray[np.integer], NDArray[np.floating], int]
Table = NDArray[np.float64] | NDArray[np.float32] | Csr
Targets = list[tuple[int, NDArray[np.float64]]]
Progress = Callable[[str, int, int | None, float | None, float | None], bool]

class Model:
    @property
    def kind(self) -> str: ...
    @property
    def classes(self) -> list[str] | None: ...
    @property
    def feature_names(self) -> list[str] | None: ...
    @property
    def parameters(self) -> str: ...
    @property
    def calibrated(self) -> bool: ...
    @property
    def sigmoids(self) -> tuple[NDArray[np.float64], NDArray[np.float64]] | None: ...
    def parts(self) -> dict[str, Any]: ...
    def raw(self, x: Table, threads: int) -> NDArray[np.float64]: ...
    def decisions(self, x: Table, threads: int) -> NDArray[np.float64]: ...
    def staged(self, x: Table, threads: int) -> list[NDArray[np.float64]]: ...
    def codes(self, x: Table, threads: int) -> NDArray[np.int64]: ...
    def probabilities(self, x: Table, threads: int) -> NDArray[np.float64]: ...
    def calibrate(
        self, x: Table, y: NDArray[np.integer], weights: NDArray[np.float64] | None, threads: int, memory: int | None
    ) -> None: ...
    def task_decisions(self, x: Table, task: int, threads: int) -> NDArray[np.float64]: ...
    def calibrate_tasks(self, tables: list[Table], targets: Targets, outputs: str, threads: int, memory: int | None) -> None: ...
    def to_bytes(self) -> bytes: ...
    @staticmethod
    def from_bytes(bytes: bytes) -> Model: ...
    def save(self, path: str | PathLike[str]) -> None: ...
    @staticmethod
    def load(path: str | PathLike[str]) -> Model: ...

def fit(
    kind: str,
    parameters: str,
    x: Table,
    y: NDArray[Any] | None,
    names: list[str] | None,
    weights: NDArray[np.float64] | None,
    features: list[str] | None,
    threads: int,
    max_time: float | None,
    memory: int | None,
    progress: Progress | None,
) -> tuple[Model, BaseException | None]: ...
def grow_tree(x: Table, y: NDArray[np.integer], depth: int, repeats: int) -> tuple[float, float, int, NDArray[np.float64]]: ...
def induced_table(model: Model, x: Table, threads: int) -> NDArray[np.float64]: ...
def induced_stages(model: Model, x: Table, threads: int) -> NDArray[np.float64]: ...
def induced_explain(model: Model, x: Table) -> list[str]: ...
def induced_text(model: Model, rules: int) -> str: ...
def grid_search(
    kind: str,
    parameters: str,
    search: str,
    x: Table,
    y: NDArray[Any],
    names: list[str] | None,
    weights: NDArray[np.float64] | None,
    threads: int,
    max_time: float | None,
    memory: int | None,
    progress: Progress | None,
) -> tuple[dict[str, Any], Model | None, BaseException | None]: ...
def fit_selection(
    parameters: str,
    tables: list[Table],
    targets: Targets,
    outputs: str,
    features: list[str] | None,
    threads: int,
    max_time: float | None,
    memory: int | None,
    progress: Progress | None,
) -> tuple[Model, BaseException | None]: ...
def selection_path(
    parameters: str,
    tables: list[Table],
    targets: Targets,
    outputs: str,
    features: list[str] | None,
    ln_rhos: list[float],
    threads: int,
    max_time: float | None,
    memory: int | None,
    progress: Progress | None,
) -> list[Model]: ...
def selection_search(
    parameters: str,
    search: str,
    tables: list[Table],
    targets: Targets,
    outputs: str,
    features: list[str] | None,
    threads: int,
    max_time: float | None,
    memory: int | None,
    progress: Progress | None,
) -> tuple[dict[str, Any], Model]: ...
def selection_transfer(
    parameters: str,
    tables: list[Table],
    targets: Targets,
    outputs: str,
    features: list[str] | None,
    folds: int,
    seed: int,
    threads: int,
    max_time: float | None,
    memory: int | None,
    progress: Progress | None,
) -> dict[str, Any]: ...
def front(model: Model) -> dict[str, Any]: ...
def front_alphas(model: Model, machine: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]: ...
def select(model: Model, index: int) -> Model: ...
def generate(name: str, n: int, seed: int, options: list[float]) -> tuple[NDArray[np.float64], NDArray[np.int64]]: ...
def symmetric_kernel(
    kernel: str, a: Table, b: Table | None, k: int, normalization: str, logarithms: bool, threads: int
) -> NDArray[np.float64]: ...
def fit_sets(
    parameters: str,
    x: Table,
    y: NDArray[np.integer],
    names: list[str],
    groups: NDArray[np.integer] | None,
    features: list[str] | None,
    threads: int,
    max_time: float | None,
    memory: int | None,
    progress: Progress | None,
) -> tuple[Model, BaseException | None]: ...
def judge_sets(
    model: Model, what: str, x: Table, offsets: NDArray[np.integer], members: NDArray[np.integer], threads: int
) -> NDArray[np.float64]: ...
def sample_scores(model: Model, x: Table, threads: int) -> NDArray[np.float64]: ...
def expected_samples(model: Model, confidence: float) -> NDArray[np.float64]: ...
def error_by_size(
    model: Model, x: Table, y: NDArray[np.integer], sizes: list[int], repeats: int, seed: int, threads: int
) -> dict[str, list[Any]]: ...
def calibrate_sets(
    model: Model, x: Table, y: NDArray[np.integer], groups: NDArray[np.integer] | None, threads: int
) -> None: ...
def search_sets(
    parameters: str,
    search: str,
    x: Table,
    y: NDArray[np.integer],
    names: list[str],
    groups: NDArray[np.integer] | None,
    threads: int,
    max_time: float | None,
    memory: int | None,
    progress: Progress | None,
) -> dict[str, list[Any]]: ...
