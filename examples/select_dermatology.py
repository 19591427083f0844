"""Which of 33 findings tell six skin diseases apart: switches against rho, and what sharing them is worth.

Usage: python examples/select_dermatology.py DATA [PICTURE]

DATA is the folder with `dermatology.csv`.
"""

import os
import sys

import numpy as np
import pandas as pd
from sklearn.model_selection import train_test_split

from boulevard import MultiTaskSelectionClassifier, selection_path, transfer_report


def main(folder, picture=None):
    table = pd.read_csv(os.path.join(folder, "dermatology.csv")).drop(columns="age")
    X, y = table.drop(columns="label").astype(float), table["label"].to_numpy()
    X_train, X_test, y_train, y_test = train_test_split(X, y, train_size=200, stratify=y, random_state=0)
    path = selection_path(MultiTaskSelectionClassifier(c=2.0), X_train, y_train, rhos=[1, 0.3, 0.1, 0.03, 0.01, 1e-3, 1e-4, 1e-6])
    for rho, estimator in zip(path.rho, path.estimators, strict=True):
        print(f"rho {rho:8.1g}: accuracy {estimator.score(X_test, y_test):.3f}, gap {estimator.dual_gap_:.1e}")
    chosen = path.estimators[4]
    order = np.argsort(chosen.switches_)[::-1][:8]
    print("most likely to matter:", ", ".join(f"{X.columns[k]} ({chosen.switches_[k]:.2f})" for k in order))
    report = transfer_report(MultiTaskSelectionClassifier(rho=1e-3, c=2.0), X_train, y_train)
    for task, alone, together in zip(report.tasks, report.alone, report.together, strict=True):
        print(f"disease {task}: error alone {alone:.3f}, together {together:.3f}")
    if picture:
        import matplotlib

        matplotlib.use("Agg")
        import matplotlib.pyplot as plt

        from boulevard.plot import SelectionPathDisplay

        display = SelectionPathDisplay.from_path(path, ax=plt.subplots(figsize=(7, 4))[1], labelled=7)
        display.figure_.savefig(picture, bbox_inches="tight", metadata={"Date": None})


if __name__ == "__main__":
    main(*sys.argv[1:])
