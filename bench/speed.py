#!/usr/bin/env python3
"""Fit and prediction times beside scikit-learn and scikit-learn-intelex (oneDAL): one command for the whole table.

    python bench/speed.py --data DIR --write docs/benchmarks.md    everything, into the page, between its marks
    python bench/speed.py rbf_10k_20 tiny                          some workloads (workloads.py), to the terminal
    python bench/speed.py tiny --export FILE.csv                   writes a workload's table, for `BOULEVARD_TABLE=FILE.csv cargo bench -p boulevard -- tiny_fits`

Every contender works in a process of its own; a turn runs all of them before the next one starts, so that a noisy machine is noisy for all.
The first piece of work of a process is "cold", the best of the next two "warm". Contenders that are not installed are left out.
"""
import argparse
import importlib
import json
import re
import statistics
import subprocess
import sys
import time
import warnings

from workloads import WORKLOADS

CONTENDERS = {"scikit-learn": "sklearn.svm", "oneDAL f64": "sklearnex.svm", "oneDAL f32": "sklearnex.svm", "boulevard": "boulevard"}
HEAD = (
    "| workload | scikit-learn s | best other s | boulevard s, cold / warm | x scikit-learn, cold / warm | asked | x best other, cold / warm | asked | true violation |\n"
    "|---|---|---|---|---|---|---|---|---|"
)


def quality(x, y, model, parameters):
    """The true KKT violation of a machine for two classes, from its coefficients alone and in double precision."""
    import numpy as np
    from sklearn.metrics.pairwise import rbf_kernel

    c, gamma = parameters["C"], parameters["gamma"]
    b, s = np.zeros(len(y)), np.asarray(model.support_)
    b[s] = np.asarray(model.dual_coef_)[0]
    f = np.concatenate([rbf_kernel(x[i : i + 1000], x[s], gamma=gamma) @ b[s] for i in range(0, len(y), 1000)])
    g, edge = f - y, 1e-8 * c
    grow, fall = np.where(y > 0, b < c - edge, b < -edge), np.where(y > 0, b > edge, b > -c + edge)
    return float(g[fall].max() - g[grow].min())


def work(name, contender, folder):
    """One cold and two warm pieces of work; prints their seconds as JSON."""
    import numpy as np

    warnings.simplefilter("ignore")
    _, make, task, parameters, *_ = WORKLOADS[name]
    table = make(folder)
    if contender.endswith("f32"):
        table = tuple(part.astype(np.float32) if place % 2 == 0 else part for place, part in enumerate(table))
    timed = task(importlib.import_module(CONTENDERS[contender]), table, parameters)
    seconds, result = [], None
    for _ in range(3):
        start = time.perf_counter()
        result = timed()
        seconds.append(time.perf_counter() - start)
    figures = dict(cold=seconds[0], warm=min(seconds[1:]))
    if name.startswith("rbf") and contender == "boulevard":
        figures["violation"] = quality(table[0], table[1], result, parameters)
    print(json.dumps(figures))


def measure(name, turns, folder):
    """Every turn's figures, by contender."""
    results = {contender: [] for contender in CONTENDERS}
    for _ in range(turns):
        for contender in list(results):
            done = subprocess.run([sys.executable, __file__, name, "--work", contender, "--data", folder or ""], capture_output=True, text=True)
            if done.returncode:
                print(f"{name}, {contender}: left out ({(done.stderr.strip().splitlines() or ['?'])[-1][:90]})", file=sys.stderr)
                del results[contender]
                continue
            results[contender].append(json.loads(done.stdout.strip().splitlines()[-1]))
    return {contender: rows for contender, rows in results.items() if rows}


def median(turns):
    return {c: {k: statistics.median(row[k] for row in rows) for k in rows[0]} for c, rows in turns.items()}


def met(name, turns):
    """In how many turns what was asked for was met, in a fresh process and later; each turn's figures by themselves."""
    asked = {"scikit-learn": WORKLOADS[name][4], "the best other": WORKLOADS[name][5]}
    said = []
    for rival, times in asked.items():
        of = [c for c in turns if c != "boulevard"] if rival != "scikit-learn" else [c for c in turns if c == rival]
        if times is None or not of:
            continue
        for when in ("cold", "warm"):
            ratios = [min(turns[c][i][when] for c in of) / ours[when] for i, ours in enumerate(turns["boulevard"]) if all(i < len(turns[c]) for c in of)]
            share = f"{sum(ratio >= times for ratio in ratios)} of {len(ratios)}"
            said.append(f"{rival} x {times}, {when}: {share} ({', '.join(f'{ratio:.1f}' for ratio in ratios)})")
    return "; ".join(said)


def line(name, found):
    """A row of the table."""
    title, *_, asked, asked_best = WORKLOADS[name]
    ours, plain = found["boulevard"], found.get("scikit-learn")
    others = {c: m for c, m in found.items() if c != "boulevard"}

    def seconds(value):
        return f"{value:.3g}"

    def times(of):
        return f"{of['cold'] / ours['cold']:.1f} / {of['warm'] / ours['warm']:.1f}"

    best = min(others.values(), key=lambda m: m["warm"]) if others else None
    cells = [title, seconds(plain["warm"]) if plain else "", seconds(best["warm"]) if best else "", f"{seconds(ours['cold'])} / {seconds(ours['warm'])}"]
    cells += [times(plain) if plain else "", str(asked), times(best) if best else "", str(asked_best or ""), f"{ours['violation']:.1e}" if "violation" in ours else ""]
    return "| " + " | ".join(cells) + " |"


def write(path, rows):
    """Puts rows into the page: those of the same name go, the others stay."""
    with open(path, encoding="utf-8") as file:
        text = file.read()
    begin, end = "<!-- speed: written by bench/speed.py -->", "<!-- end of speed -->"
    inside = re.search(re.escape(begin) + r"\n(.*?)" + re.escape(end), text, re.S)
    if inside is None:
        sys.exit(f"{path} has no marks {begin} and {end}")
    old = {row.split(" | ")[0]: row for row in inside[1].splitlines()[2:] if row.startswith("| ")}
    new = old | {row.split(" | ")[0]: row for row in rows}
    titles = [f"| {entry[0]}" for entry in WORKLOADS.values()]
    table = "\n".join([HEAD, *(new[title] for title in titles if title in new)])
    with open(path, "w", encoding="utf-8") as file:
        file.write(text[: inside.start()] + begin + "\n" + table + "\n" + end + text[inside.end() :])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("workloads", nargs="*", metavar="WORKLOAD", help=", ".join(WORKLOADS))
    parser.add_argument("--data", help="folder with letter, usps and a9a")
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--write", metavar="FILE", help="put the rows into this page, between its marks")
    parser.add_argument("--export", metavar="FILE", help="write the first workload's table, label last, and stop")
    parser.add_argument("--work", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.work:
        return work(options.workloads[0], options.work, options.data)
    if options.export:
        import numpy as np

        x, y, *_ = WORKLOADS[options.workloads[0]][1](options.data)
        names = [f"x{i}" for i in range(x.shape[1])] + ["label"]
        np.savetxt(options.export, np.column_stack([x, y]), delimiter=",", header=",".join(names), comments="", fmt="%.17g")
        return None
    names = options.workloads or [n for n in WORKLOADS if options.data or n not in ("letter", "usps", "a9a")]
    rows = []
    print(HEAD)
    for name in names:
        turns = measure(name, options.turns, options.data)
        rows.append(line(name, median(turns)))
        print(rows[-1], f"    {met(name, turns)}", sep="\n", flush=True)
        if options.write:
            write(options.write, rows)
    return None


if __name__ == "__main__":
    main()
