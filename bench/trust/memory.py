"""Peak resident size of fits, searches and the five methods under a memory limit: at most a tenth over what was allowed.

    python bench/trust/memory.py [--json FILE] [--only WORD]

Every case is a process of its own. What the table, the interpreter and the libraries take is measured before the fit and counts in full;
the limit is for what the fit adds. A refusal that says what is needed is an answer too.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path

from common import ESTIMATORS, commit

#: Rows, columns, limits in MB.
SHAPES = {"tall": (12_000, 20, (40, 200)), "square": (3_000, 300, (60, 300)), "wide": (400, 8_000, (100, 400))}
CASES = [(name, shape, limit) for name in ESTIMATORS for shape, (_, _, limits) in SHAPES.items() for limit in limits]

CHILD = """
import gc, re, sys, warnings
warnings.filterwarnings("ignore")
sys.path.insert(0, {folder!r})
import numpy as np
from common import ESTIMATORS, target
import boulevard as b

def status(what):
    text = open("/proc/self/status").read()
    return 1024 * int(re.search(what + r":\\s+(\\d+) kB", text)[1])

make, kind = ESTIMATORS[{name!r}]
rng = np.random.default_rng(0)
# What a first fit loads and keeps is not the second one's.
X = rng.normal(size=(40, 3))
make().fit(X, target(kind, (X[:, 0] > 0).astype(int), X[:, 0]))
X = rng.normal(size=({rows}, {columns}))
numbers = X[:, 0] + rng.normal(size={rows})
classes = (numbers > 0).astype(int)
model = make()
model.set_params(memory_limit={limit}, max_time={seconds})
gc.collect()
open("/proc/self/clear_refs", "w").write("5")
before = status("VmRSS")
try:
    model.fit(X, target(kind, classes, numbers))
    word = "fitted" if model.fit_status_ == 0 else "stopped"
except b.exceptions.MemoryLimitError as error:
    word = "refused: " + str(error).replace("\\n", " ")
except Exception as error:
    word = type(error).__name__ + ": " + str(error)[:160]
print(max(0, status("VmHWM") - before), word)
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--only", default="")
    parser.add_argument("--seconds", type=float, default=10.0, help="time limit of a fit: the peak comes early")
    options = parser.parse_args()
    rows_ = []
    for name, shape, limit in CASES:
        if options.only not in f"{name} {shape}":
            continue
        rows, columns, _ = SHAPES[shape]
        code = CHILD.format(
            folder=str(Path(__file__).parent), name=name, rows=rows, columns=columns, limit=limit * 10**6, seconds=options.seconds
        )
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            rows_.append({"case": f"{name}, {shape}", "limit": limit, "answer": "crashed: " + done.stderr.strip()[-200:], "within": False})
        else:
            added, answer = done.stdout.strip().split(" ", 1)
            over = int(added) / (limit * 1e6)
            # A time limit that comes before there is anything to return is an answer; its peak counts all the same.
            wrong = answer.split(":")[0].endswith("Error") and "was stopped (time limit)" not in answer
            within = over <= 1.1 and not wrong
            rows_.append({"case": f"{name}, {shape}", "limit": limit, "used": round(int(added) / 1e6, 1), "answer": answer, "within": within})
        print(rows_[-1], flush=True)
    good = sum(row["within"] for row in rows_)
    print(f"{good} of {len(rows_)} cases within a tenth of the limit, or refused (commit {commit()})")
    if options.json:
        options.json.write_text(json.dumps(rows_, indent=1))
    sys.exit(good < len(rows_))


if __name__ == "__main__":
    main()
