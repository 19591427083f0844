"""Types of the native part."""

from os import PathLike
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from ._typing import Floats, Progress, Table, Targets

__version__: str

@final
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
    def sigmoids(self) -> tuple[Floats, Floats] | None: ...
    def parts(self) -> dict[str, Any]: ...
    def raw(self, x: Table, threads: int) -> Floats: ...
    def decisions(self, x: Table, threads: int) -> Floats: ...
    def staged(self, x: Table, threads: int) -> list[Floats]: ...
    def codes(self, x: Table, threads: int) -> NDArray[np.int64]: ...
    def probabilities(self, x: Table, threads: int) -> Floats: ...
    def calibrate(self, x: Table, y: NDArray[np.integer], weights: Floats | None, threads: int, memory: int | None) -> None: ...
    def task_decisions(self, x: Table, task: int, threads: int) -> Floats: ...
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
    weights: Floats | None,
    features: list[str] | None,
    threads: int,
    max_time: float | None,
    memory: int | None,
    progress: Progress | None,
) -> tuple[Model, BaseException | None]: ...
def grow_tree(x: Table, y: NDArray[np.integer], depth: int, repeats: int) -> tuple[float, float, int, Floats]: ...
def induced_table(model: Model, x: Table, threads: int) -> Floats: ...
def induced_stages(model: Model, x: Table, threads: int) -> Floats: ...
def induced_explain(model: Model, x: Table) -> list[str]: ...
def induced_text(model: Model, rules: int) -> str: ...
def grid_search(
    kind: str,
    parameters: str,
    search: str,
    x: Table,
    y: NDArray[Any],
    names: list[str] | None,
    weights: Floats | None,
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
def front_alphas(model: Model, machine: int) -> tuple[Floats, Floats]: ...
def select(model: Model, index: int) -> Model: ...
def generate(name: str, n: int, seed: int, options: list[float]) -> tuple[Floats, NDArray[np.int64]]: ...
def symmetric_kernel(
    kernel: str, a: Table, b: Table | None, k: int, normalization: str, logarithms: bool, threads: int, out: Floats
) -> None: ...
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
def judge_sets(model: Model, what: str, x: Table, offsets: NDArray[np.integer], members: NDArray[np.integer], threads: int) -> Floats: ...
def sample_scores(model: Model, x: Table, threads: int) -> Floats: ...
def expected_samples(model: Model, confidence: float) -> Floats: ...
def error_by_size(
    model: Model, x: Table, y: NDArray[np.integer], sizes: list[int], repeats: int, seed: int, threads: int
) -> dict[str, list[Any]]: ...
def calibrate_sets(model: Model, x: Table, y: NDArray[np.integer], groups: NDArray[np.integer] | None, threads: int) -> None: ...
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
