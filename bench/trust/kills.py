"""kill -9 at random while the program saves, reproduces and tunes: the old file or the new one, never a fragment, nothing left for ever.

    python bench/trust/kills.py COUNT [--seed N]
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import numpy as np
from common import commit, program, write_csv

QUIET = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}


def fragments(folder: Path) -> list[Path]:
    return [path for path in folder.rglob(".*.tmp") if path.is_file()]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("count", type=int)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    dice, counts, run = random.Random(options.seed), Counter(), program()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        rng = np.random.default_rng(0)
        X = rng.normal(size=(400, 400))
        data = folder / "data.csv"
        write_csv(data, X, (X[:, 0] + rng.normal(size=400) > 0).astype(int))
        small = folder / "small.csv"
        write_csv(small, X[:80, :4], (X[:80, 0] > 0).astype(int))
        model, ranges, state = folder / "model", folder / "ranges", folder / "state"
        work = {
            # A model of 1.3 MB in tenths of a second, so that many kills fall into the writing.
            "save": [run, "train", str(data), "-q", "-o", str(model)],
            "tune": [run, "tune", str(small), "-q", "--folds", "3", "-o", str(model)],
            "scale": [run, "scale", str(data), "-s", str(ranges), "-o", str(folder / "scaled.svm")],
            "convert": [run, "convert", str(data), str(folder / "converted.svm")],
            "reproduce": [run, "reproduce", "evo/figure1", "--quick", "-q", "--only", "spiral", "--data", str(folder), "--out", str(state)],
        }
        listed = subprocess.run([run, "reproduce", "--list"], capture_output=True, text=True, check=True).stdout
        if "evo/figure1" not in listed:
            work.pop("reproduce")
        lengths = {}
        for what, words in work.items():
            begin = time.monotonic()
            done = subprocess.run(words, capture_output=True, text=True, timeout=120, check=False)
            lengths[what] = time.monotonic() - begin
            if done.returncode != 0:
                print(f"{what} cannot be tried: {done.stderr.strip()}", file=sys.stderr)
                lengths.pop(what)
        names = list(lengths)
        shutil.rmtree(state, ignore_errors=True)
        start = time.monotonic()
        while counts["kills"] < options.count:
            what = dice.choice(names)
            child = subprocess.Popen(work[what], **QUIET)
            time.sleep(min(lengths[what], 2.0) * (0.05 + 1.05 * dice.random()))
            child.kill()
            if child.wait() != -9:
                counts["ended before the kill"] += 1
                if what == "reproduce":
                    # What is done is not done again: the next one begins anew.
                    shutil.rmtree(state, ignore_errors=True)
                continue
            counts["kills"] += 1
            counts[f"while {what}"] += 1
            for path, words in ((model, ["inspect"]), (ranges, ["scale", str(data), "-o", os.devnull, "-r"])):
                if path.exists() and what in ("save", "tune", "scale"):
                    words = [run, words[0], str(path)] if words == ["inspect"] else [run, *words, str(path)]
                    done = subprocess.run(words, capture_output=True, text=True, check=False)
                    if done.returncode != 0 and os.devnull not in done.stderr:
                        sys.exit(f"after a kill while {what}: {path.name} is damaged: {done.stderr}")
            if what == "reproduce" and dice.random() < 0.1:
                # A run that was killed goes on where it stopped.
                done = subprocess.run(work[what], capture_output=True, text=True, timeout=300, check=False)
                if done.returncode != 0:
                    sys.exit(f"after a kill while reproducing: {done.stderr}")
                counts["runs that went on"] += 1
                shutil.rmtree(state, ignore_errors=True)
        counts["fragments before the sweep"] = len(fragments(folder))
        # Fragments are removed by a later save into the same folder, once they are older than a minute.
        for path in fragments(folder):
            os.utime(path, (time.time() - 300,) * 2)
        for what in names:
            subprocess.run(work[what], check=False, timeout=300, **QUIET)
        subprocess.run([run, "scale", str(small), "-s", str(ranges), "-o", str(folder / "scaled.svm")], check=True, **QUIET)
        counts["fragments after the sweep"] = len(fragments(folder))
        print(json.dumps({"commit": commit(), "minutes": round((time.monotonic() - start) / 60, 1), **dict(sorted(counts.items()))}, indent=1))
        if counts["fragments after the sweep"]:
            sys.exit(f"left behind: {[path.name for path in fragments(folder)]}")


if __name__ == "__main__":
    main()
