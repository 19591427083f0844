"""What the guide says can be run: every Python block of every page, the shell blocks with the program where it is built, the Rust page's
code against the example that is compiled.
"""

import importlib.util
import os
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[3]
GUIDE = ROOT / "docs" / "guide"
# The page about clusters is run by test_dask.py and test_ray.py, which have clusters.
PAGES = sorted(
    [
        *(page for page in GUIDE.glob("*.md") if page.stem != "cluster"),
        ROOT / "docs" / "index.md",
        ROOT / "crates" / "boulevard-python" / "README.md",
    ]
)
pytestmark = pytest.mark.skipif(not GUIDE.is_dir(), reason="the documents are not beside the tests")


def blocks(page, language):
    return re.findall(rf"^```{language}\n(.*?)^```", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("page", [page for page in PAGES if page.is_file() and blocks(page, "python")], ids=lambda page: page.stem)
def test_python_blocks_run(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    space = {"__name__": "__main__"}
    for block in blocks(page, "python"):
        needs = re.match(r"# needs: (.*)", block)
        if needs and not all(importlib.util.find_spec(name) for name in needs.group(1).split(", ")):
            continue
        exec(compile(block, str(page), "exec"), space)


@pytest.mark.parametrize("name", ["boosted", "multi_sample", "multitask_selection", "pareto", "gpu", "tune"])
def test_python_blocks_of_concepts_run(name, tmp_path, monkeypatch):
    """They speak of the reader's own data: X, y, a label matrix Y, groups."""
    pytest.importorskip("matplotlib")
    pytest.importorskip("pandas")
    monkeypatch.chdir(tmp_path)
    random = np.random.default_rng(0)
    X = random.normal(size=(90, 3))
    y = (X[:, 0] + 0.3 * random.normal(size=90) > 0).astype(int)
    space = {"X": X, "y": y, "Y": np.column_stack([y, 1 - y, X[:, 1] > 0.5]).astype(int), "groups": np.arange(200) // 4}
    found = blocks(ROOT / "docs" / "concepts" / f"{name}.md", "python")
    assert found
    for block in found:
        # There may be no card here; whatever says cuda is asked of the processor.
        exec(compile(block.replace('"cuda"', '"auto"'), name, "exec"), space)


def test_every_page_with_python_is_run():
    run = {page.stem for page in PAGES} | {"cluster", "boosted", "multi_sample", "multitask_selection", "pareto", "gpu", "tune"}
    shown = {
        page.stem
        for page in (ROOT / "docs").rglob("*.md")
        if "gallery" not in page.parts and "generated" not in page.parts and blocks(page, "python")
    }
    assert shown <= run, shown - run


def test_readme_python_block_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (block,) = blocks(ROOT / "README.md", "python")
    X = np.random.default_rng(0).normal(size=(60, 2))
    exec(block, {"X": X, "X_new": X[:5], "y": (X[:, 0] > 0).astype(int)})


def program():
    named = os.environ.get("BOULEVARD_PROGRAM")
    places = [Path(named)] if named else [ROOT / "target" / kind / "boulevard" for kind in ("release", "quick", "debug")]
    return next((place for place in places if place.is_file()), None)


def write_tables(folder):
    """The files that pages speak of, small."""
    from sklearn.datasets import dump_svmlight_file, load_iris

    X, y = load_iris(return_X_y=True)
    names = np.array(["setosa", "versicolor", "virginica"])
    head = "length,width,petal_length,petal_width"
    rows = [",".join(map(str, row)) for row in X]
    (folder / "flowers.csv").write_text(f"{head},kind\n" + "".join(f"{r},{names[k]}\n" for r, k in zip(rows, y, strict=True)))
    (folder / "new.csv").write_text(f"{head}\n" + "\n".join(rows[::7]) + "\n")
    for file in ("train.svm", "test.svm", "test.scaled.svm"):
        dump_svmlight_file(X, y, str(folder / file), zero_based=False)
    shutil.copy(folder / "flowers.csv", folder / "letters.csv")
    hard = [f"{r},{'rock' if k == 1 else 'mine'}\n" for r, k in zip(rows, y, strict=True) if k]
    for file in ("data.csv", "table.csv", "ionosphere.csv", "sonar.csv"):
        (folder / file).write_text(f"{head},kind\n" + "".join(hard))
    (folder / "prices.csv").write_text("length,width,price\n" + "".join(f"{a},{b},{c}\n" for a, b, c, _ in X))
    (folder / "rows.csv").write_text(
        f"{head},beach,sunset,urban\n" + "".join(f"{r},{k % 2},{k // 2},{int(k == 0)}\n" for r, k in zip(rows, y, strict=True))
    )
    (folder / "echoes.csv").write_text(
        f"{head},track,kind\n" + "".join(f"{r},t{i // 5},{names[k]}\n" for i, (r, k) in enumerate(zip(rows, y, strict=True)))
    )


#: Pages whose shell blocks are run.
SHELL = ["guide/shell", "guide/from_libsvm", "guide/pictures"]
SHELL += [f"concepts/{name}" for name in ("boosted", "feature_induction", "gpu", "multi_sample", "pareto", "svm", "tune")]
#: What is not: a server that waits for somebody (it has tests of its own), tables of papers with data of the reader's, installations.
NOT_RUN = ("boulevard explore", "boulevard reproduce TABLE", "pip install", "cargo add")


@pytest.mark.parametrize("name", SHELL)
def test_shell_blocks_run(name, tmp_path):
    if program() is None:
        pytest.skip("the program is not built")
    path = tmp_path / "bin"
    path.mkdir()
    shutil.copy(program(), path / "boulevard")
    write_tables(tmp_path)
    if name == "concepts/multi_sample":
        shutil.copy(tmp_path / "echoes.csv", tmp_path / "new.csv")
    environment = {**os.environ, "PATH": f"{path}:{os.environ['PATH']}", "NO_COLOR": "1"}
    ran = 0
    for block in blocks(ROOT / "docs" / f"{name}.md", "sh"):
        lines = [line for line in block.splitlines() if not line.startswith(NOT_RUN)]
        if not lines:
            continue
        # There may be no card here.
        text = "\n".join(lines).replace("--device cuda", "--device auto")
        done = subprocess.run(["bash", "-euc", text], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, block + done.stdout[-2000:] + done.stderr[-2000:]
        ran += 1
    assert ran >= 1


def test_every_page_with_a_shell_block_is_run():
    pages = [*(ROOT / "docs" / "guide").glob("*.md"), *(ROOT / "docs" / "concepts").glob("*.md")]
    left = {
        f"{page.parent.name}/{page.stem}"
        for page in pages
        if any(not line.startswith(NOT_RUN) for block in blocks(page, "sh") for line in block.splitlines())
    }
    assert left <= set(SHELL), left - set(SHELL)


def test_the_rust_page_shows_the_example_that_is_compiled():
    (block,) = blocks(GUIDE / "rust.md", "rust")
    example = (ROOT / "crates" / "boulevard" / "examples" / "first_steps.rs").read_text(encoding="utf-8")
    assert block.strip() == example.split("\n\n", 1)[1].strip()


def test_every_public_name_is_in_the_reference():
    import boulevard

    page = (ROOT / "docs" / "reference" / "python.md").read_text(encoding="utf-8")
    listed = {line.strip() for line in page.splitlines() if re.fullmatch(r"   [A-Za-z_0-9.]+", line)}
    wanted = {name for name in boulevard.__all__ if name != "__version__" and not hasattr(getattr(boulevard, name), "__path__")}
    for room in ("plot", "datasets", "model_selection", "kernels", "export", "exceptions"):
        wanted.discard(room)
        module = __import__(f"boulevard.{room}", fromlist=["x"])
        own = [name for name in module.__all__ if getattr(module, name).__module__.startswith("boulevard")]
        wanted |= {f"{room}.{name}" for name in own}
    wanted.discard("export.to_onnx")
    assert wanted <= listed, sorted(wanted - listed)
