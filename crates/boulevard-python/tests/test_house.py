"""The sources themselves: short files, short functions, everything public listed."""

import ast
import inspect
import pathlib

import pytest

import boulevard

FILES = sorted(pathlib.Path(boulevard.__file__).parent.rglob("*.py"))


def code_lines(function, lines):
    """Lines of a function without its docstring, comments and blank lines."""
    body = function.body[1:] if ast.get_docstring(function) is not None else function.body
    if not body:
        return 0
    return sum(1 for line in lines[body[0].lineno - 1 : function.end_lineno] if line.strip() and not line.strip().startswith("#"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: "/".join(path.parts[-2:]))
def test_files_and_functions_are_short(path):
    text = path.read_text()
    lines = text.splitlines()
    # As in the library: what is longer says why.
    assert len(lines) <= 450 or "\n# long: " in text
    tree = ast.parse(text)
    assert ast.get_docstring(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            assert code_lines(node, lines) <= 80, node.name


def test_every_public_name_exists_and_every_parameter_is_annotated():
    for name in set(boulevard.__all__) - {"FrozenModel"}:  # native through and through; the stub has its types
        thing = getattr(boulevard, name)
        if inspect.isclass(thing):
            assert thing.__doc__ and thing.__module__.startswith(("boulevard.svm.", "boulevard.methods."))
            for parameter in list(inspect.signature(thing.__init__).parameters.values())[1:]:
                assert parameter.annotation is not inspect.Parameter.empty, (name, parameter)
                assert parameter.name in thing.__doc__, (name, parameter)
