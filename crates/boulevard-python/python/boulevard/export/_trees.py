"""Induced features as trees with their tests, paths and what leaves say."""

from dataclasses import dataclass

import numpy as np

from .._typing import Parts
from ._record import Record


@dataclass
class Leaf:
    """What a tree says in one of its leaves: the standardised value, and the tests on the way (place, whether it held)."""

    path: list[tuple[int, bool]]
    value: float


@dataclass
class Tree:
    """Tests ``x[feature] <= threshold``, and leaves."""

    output: int
    tests: list[tuple[int, float]]
    leaves: list[Leaf]
    #: By node: (test, left, right), or what the leaf says.
    nodes: list[tuple[int, int, int] | float]


def trees(record: Record) -> list[Tree]:
    """The trees of all outputs, in the order of the columns."""
    arrays, header = record.arrays, record.header
    kind = "hard" if header["parameters"]["preset"] == "paper" else header["parameters"]["output"]
    negative, positive = arrays["nodes.negative"], arrays["nodes.positive"]
    found, first = [], 0
    for output, induction in enumerate(header["inductions"]):
        for feature in induction["features"]:
            count = feature["nodes"]
            part = slice(first, first + count)
            values = (_said(negative[part], positive[part], kind) - feature["mean"]) / feature["spread"]
            found.append(_tree(record, output, first, values))
            first += count
    return found


def _said(negative: np.ndarray, positive: np.ndarray, kind: str) -> np.ndarray:
    difference, weight = positive - negative, positive + negative
    if kind == "hard":
        return np.sign(difference)
    if kind == "laplace":
        return difference / (weight + 2.0)
    return np.divide(difference, weight, out=np.zeros_like(difference), where=weight > 0)


def _tree(record: Record, output: int, first: int, values: np.ndarray) -> Tree:
    arrays: Parts = record.arrays
    tree = Tree(output, [], [], [0.0] * len(values))
    waiting: list[tuple[int, list[tuple[int, bool]]]] = [(0, [])]
    while waiting:
        node, path = waiting.pop()
        left, right = int(arrays["nodes.left"][first + node]), int(arrays["nodes.right"][first + node])
        if not left:
            tree.nodes[node] = float(values[node])
            tree.leaves.append(Leaf(path, float(values[node])))
            continue
        test = len(tree.tests)
        tree.tests.append((int(arrays["nodes.feature"][first + node]), float(arrays["nodes.threshold"][first + node])))
        tree.nodes[node] = (test, left, right)
        waiting += [(right, [*path, (test, False)]), (left, [*path, (test, True)])]
    return tree
