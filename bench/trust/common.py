"""What the trust measurements share: every estimator, tables of every shape, and the program."""

from __future__ import annotations

import os
import shutil
import statistics
import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import scipy.sparse as sp

import boulevard as b

ROOT = Path(__file__).resolve().parents[2]


def program() -> str:
    """The program: BOULEVARD_PROGRAM, or the newest of the built ones."""
    if found := os.environ.get("BOULEVARD_PROGRAM"):
        return found
    built = [path for profile in ("release", "quick", "debug") if (path := ROOT / "target" / profile / "boulevard").is_file()]
    if not built:
        raise SystemExit("no program: cargo build --release, or set BOULEVARD_PROGRAM")
    return str(max(built, key=lambda path: path.stat().st_mtime))


#: name -> (makes the estimator, kind of target)
ESTIMATORS: dict[str, tuple[Callable[[], object], str]] = {
    "SVC": (lambda: b.SVC(), "classes"),
    "SVC linear C=100": (lambda: b.SVC(kernel="linear", C=100), "classes"),
    "SVC probability": (lambda: b.SVC(probability=True), "classes"),
    "NuSVC": (lambda: b.NuSVC(nu=0.3), "classes"),
    "SVR": (lambda: b.SVR(), "reals"),
    "NuSVR": (lambda: b.NuSVR(), "reals"),
    "OneClassSVM": (lambda: b.OneClassSVM(), "none"),
    "LinearSVC": (lambda: b.LinearSVC(C=100), "classes"),
    "LinearSVC hinge": (lambda: b.LinearSVC(loss="hinge", C=100), "classes"),
    "LinearSVC l1": (lambda: b.LinearSVC(penalty="l1", dual=False), "classes"),
    "LinearSVR": (lambda: b.LinearSVR(C=100), "reals"),
    "BoostedSVC": (lambda: b.BoostedSVC(), "classes"),
    "ParetoSVC": (lambda: b.ParetoSVC(), "classes"),
    "MultiSampleClassifier": (lambda: b.MultiSampleClassifier(), "classes"),
    "FeatureInductionClassifier": (lambda: b.FeatureInductionClassifier(), "classes"),
    "MultiTaskSelectionClassifier": (lambda: b.MultiTaskSelectionClassifier(), "classes"),
    "MultiTaskSelectionRegressor": (lambda: b.MultiTaskSelectionRegressor(), "reals"),
}


def table(shape: str, seed: int = 0) -> tuple[object, np.ndarray, np.ndarray]:
    """X, classes and numbers: a tall, wide, sparse, middling or tiny table."""
    rng = np.random.default_rng(seed)
    if shape == "sparse":
        X = sp.random(400, 300_000, density=0.005, format="csr", random_state=seed)
        signal = np.asarray(X[:, :3000].sum(axis=1)).ravel()
    else:
        rows, columns = {"tall": (20_000, 12), "wide": (700, 20_000), "middle": (1500, 60), "tiny": (60, 4)}[shape]
        X = rng.normal(size=(rows, columns))
        signal = X[:, : min(5, columns)].sum(axis=1)
    noisy = signal + (signal.std() + 1e-9) * rng.normal(size=signal.size)
    return X, (noisy > np.median(noisy)).astype(int), noisy


def target(kind: str, classes: np.ndarray, numbers: np.ndarray) -> np.ndarray | None:
    return {"classes": classes, "reals": numbers, "none": None}[kind]


def resident() -> int:
    """Resident bytes of this process, less those that the system may take back at any time (waiting arenas)."""
    kilobytes = {}
    with open("/proc/self/smaps_rollup") as file:
        for line in file:
            words = line.split()
            if len(words) == 3 and words[2] == "kB":
                kilobytes[words[0]] = int(words[1])
    return 1024 * (kilobytes["Rss:"] - kilobytes.get("LazyFree:", 0))


def write_csv(path: Path, X: np.ndarray, y: np.ndarray) -> None:
    head = ",".join(f"x{j}" for j in range(X.shape[1])) + ",y"
    np.savetxt(path, np.column_stack([X, y]), delimiter=",", header=head, comments="", fmt="%.17g")


def quantiles(values: list[float]) -> str:
    if not values:
        return "none"
    ordered = sorted(values)
    pick = lambda share: ordered[min(len(ordered) - 1, int(share * len(ordered)))]  # noqa: E731
    return f"median {statistics.median(ordered):.3f}, 99 % {pick(0.99):.3f}, worst {ordered[-1]:.3f}"


def commit() -> str:
    git = shutil.which("git")
    if git is None:
        return "unknown"
    return subprocess.run([git, "rev-parse", "--short", "HEAD"], capture_output=True, text=True, cwd=ROOT, check=False).stdout.strip()
