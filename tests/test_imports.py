"""Imports run one way: packages are layers, modules have no cycles, what is private stays at home.

Modules are read, not imported, so imports inside of functions count. Those for type checkers alone do not.
"""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import NamedTuple

import pytest

REPOSITORY = Path(__file__).resolve().parents[1]

# A package or module imports only from lines below its own, never from another one on its line. Names are those of
# folders and files in src/homothety; `homothety` is its __init__.py, the public names. `docs/architecture.md` shows
# this list.
LAYERS = [
    ["__main__"],
    ["cli"],
    ["homothety"],
    ["report", "viz", "export"],
    ["estimators"],
    ["summaries", "block_preparation"],
    ["models.missing"],
    ["models.icsc", "models.frames"],
    ["models.ibphmm", "models.hdphmm", "models.ordered"],
    ["models.hmm", "models.ddcrp", "models.crp", "models.shapes", "models.gmm"],
    ["models.emissions", "models.partitions"],
    ["models", "models._parts"],
    ["preprocessing", "datasets", "quality"],
    ["sequences"],
    ["sampling", "covariance"],
    ["distributions"],
    ["decorrelation", "times", "channels", "palette", "metrics", "persistence", "workers"],
    ["arrays"],
    ["archives"],
    ["errors", "files", "phrases"],
    ["_jit", "_version"],
    ["compilation"],
]
AT_HOME = {
    "matplotlib": "viz",
    "mpl_toolkits": "viz",
    "dask": "workers",
    "distributed": "workers",
    "cloudpickle": "workers",
}
# Modules that import by a name that is computed, which cannot be read here: the public names, the classes of saved
# models, and what formats of files need.
COMPUTED = {
    "homothety",
    "homothety.persistence",
    "homothety.datasets.readers.apart",
    "homothety.datasets.readers.checks",
}


class Import(NamedTuple):
    """One name that a module imports."""

    importer: str
    line: int
    module: str
    name: str | None
    """None where the module itself is imported."""

    def __str__(self) -> str:
        return f"{self.importer}:{self.line} imports {'.'.join(filter(None, self[2:]))}"


def is_within(module, package):
    return module == package or module.startswith(f"{package}.")


def read_modules(folder):
    """Return the sources of all modules by name."""
    paths = {path.relative_to(folder).with_suffix("").parts: path for path in folder.rglob("*.py")}
    named = {".".join(parts).removesuffix(".__init__"): path for parts, path in paths.items()}
    return {name: path.read_text(encoding="utf-8") for name, path in named.items()}


def statements_of(node):
    """Yield everything inside of a syntax tree that runs, not only for type checkers."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.If) and ast.unparse(child.test).endswith("TYPE_CHECKING"):
            yield from (found for other in child.orelse for found in (other, *statements_of(other)))
        else:
            yield child
            yield from statements_of(child)


def imports_of(sources):
    """Return all imports of some modules."""
    found = []
    for importer, source in sources.items():
        for node in statements_of(ast.parse(source)):
            if isinstance(node, ast.Import):
                found += [Import(importer, node.lineno, alias.name, None) for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                assert not node.level, f"{importer}:{node.lineno} has a relative import: write the whole name."
                for alias in node.names:
                    inner = f"{node.module}.{alias.name}"
                    target = (inner, None) if inner in sources else (node.module, alias.name)
                    found.append(Import(importer, node.lineno, *target))
    return found


def layer_of(module):
    """Return the number of the line of a module, and the entry it belongs to: the longest that fits."""
    if module == "homothety":
        return next((number, module) for number, names in enumerate(LAYERS) if module in names)
    inner = module.removeprefix("homothety.")
    fitting = [(len(name), n, name) for n, names in enumerate(LAYERS) for name in names if is_within(inner, name)]
    assert fitting, f"{module} belongs to no layer: add its folder to LAYERS in {Path(__file__).name}."
    return max(fitting)[1:]


def uphill(imports):
    """Return imports from the layer of the importer, or one above."""
    inner = [one for one in imports if is_within(one.module, "homothety")]
    layers = [(layer_of(one.importer), layer_of(one.module)) for one in inner]
    crossed = [home != target and below <= above for (above, home), (below, target) in layers]
    return [one for one, is_crossed in zip(inner, crossed, strict=True) if is_crossed]


def cycle_in(imports, modules):
    """Return modules that import each other in a circle, or nothing."""
    graph = defaultdict(set)
    for one in imports:
        if one.module in modules and one.module != one.importer:
            graph[one.importer].add(one.module)
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return error.args[1][::-1]
    return []


def strangers(imports):
    """Return imports of packages that belong elsewhere."""
    homes = {package: f"homothety.{home}" for package, home in AT_HOME.items()}
    outside = [(one, homes.get(one.module.split(".")[0])) for one in imports]
    return [one for one, home in outside if home and not is_within(one.importer, home)]


def trespassing(imports):
    """Return imports of private names of another folder of the library."""
    return [one for one in imports if (home := home_of(one)) and not is_within(one.importer, home)]


def home_of(one):
    """Return the folder of the library that a private name belongs to; nothing for other names."""
    parts = [*one.module.split("."), *([one.name] if one.name else [])]
    private = [place for place, part in enumerate(parts) if re.match(r"_(?!_)", part)]
    return ".".join(parts[: min(private[0], 2)]) if parts[0] == "homothety" and private else ""


def compiled_elsewhere(imports):
    """Return imports of the compiler by files that are not called kernels."""
    return [one for one in imports if one.module == "homothety._jit" and not one.importer.endswith("_kernels")]


def computed(sources):
    """Return modules that import by a computed name."""
    return {name for name, source in sources.items() if re.search(r"\bimport_module\(|\b__import__\(", source)}


@pytest.fixture(scope="module")
def sources():
    return read_modules(REPOSITORY / "src")


@pytest.fixture(scope="module")
def imports(sources):
    return imports_of(sources)


def listed(found):
    return "\n".join(map(str, found))


def test_layers_are_crossed_downwards(imports):
    assert not (found := uphill(imports)), listed(found)


def test_every_layer_is_there_once(sources):
    names = [name for layer in LAYERS for name in layer]
    assert len(set(names)) == len(names)
    assert set(names) == {layer_of(module)[1] for module in sources}


def test_modules_have_no_cycle(imports, sources):
    assert not (found := cycle_in(imports, sources)), " -> ".join(found)


def test_other_packages_are_imported_in_one_place(imports):
    assert not (found := strangers(imports)), listed(found)


def test_private_names_stay_in_their_folder(imports):
    assert not (found := trespassing(imports)), listed(found)


def test_only_kernels_are_compiled(imports):
    assert not (found := compiled_elsewhere(imports)), listed(found)


def test_few_modules_import_by_computed_names(sources):
    assert computed(sources) == COMPUTED


def test_the_page_on_architecture_shows_the_layers():
    page = (REPOSITORY / "docs" / "architecture.md").read_text(encoding="utf-8")
    (shown,) = re.findall(r"^## Imports run one way\n.*?^```text\n(.*?)^```$", page, flags=re.MULTILINE | re.DOTALL)
    assert shown == "".join(f"{', '.join(layer)}\n" for layer in LAYERS)


# --- faults that have to be noticed -----------------------------------------------------------------------------------

FAULTS = {
    "up": (uphill, "homothety.models.hmm.em", "from homothety.summaries.paths import align"),
    "up in a function": (uphill, "homothety.arrays", "def f():\n    import homothety.viz"),
    "sideways": (uphill, "homothety.report.page", "from homothety.viz import plot_trace"),
    "to the public names": (uphill, "homothety.report.sentences", "from homothety import ActionHMM"),
    "at run time": (uphill, "homothety.arrays", "if TYPE_CHECKING:\n    pass\nelse:\n    import homothety.cli"),
    "matplotlib": (strangers, "homothety.report.clustering", "def f():\n    import matplotlib.pyplot as plt"),
    "dask": (strangers, "homothety.sampling._remote", "from distributed import Client"),
    "private module": (trespassing, "homothety.cli.runs", "from homothety.viz._figures import Look"),
    "private function": (trespassing, "homothety.cli.runs", "from homothety.sequences import _cut"),
    "compiler": (compiled_elsewhere, "homothety.covariance.measures", "from homothety._jit import jit"),
}
FINE = {
    "down": "from homothety.errors import InputError",
    "own folder": "from homothety.models.hmm._kernels import draw_path",
    "private to the library": "from homothety._version import __version__",
    "for type checkers": "if TYPE_CHECKING:\n    from homothety.cli import main\n    import matplotlib",
}


@pytest.mark.parametrize(("check", "importer", "source"), FAULTS.values(), ids=FAULTS)
def test_a_fault_is_noticed(check, importer, source):
    assert len(check(imports_of({importer: source}))) == 1


@pytest.mark.parametrize("source", FINE.values(), ids=FINE)
def test_what_is_fine_is_let_pass(source):
    imports = imports_of({"homothety.models.hmm.em": source})
    assert [check(imports) for check in (uphill, strangers, trespassing, compiled_elsewhere)] == [[]] * 4


def test_a_cycle_through_a_function_is_noticed():
    sources = {
        "homothety.a": "from homothety.b import f",
        "homothety.b": "from homothety import c",
        "homothety.c": "def g():\n    import homothety.a",
    }
    assert sorted(set(cycle_in(imports_of(sources), sources))) == sorted(sources)
    assert cycle_in(imports_of(sources | {"homothety.c": ""}), sources) == []


def test_a_relative_import_is_noticed():
    with pytest.raises(AssertionError, match="has a relative import"):
        imports_of({"homothety.a": "from . import b"})


def test_a_folder_without_a_layer_is_noticed():
    with pytest.raises(AssertionError, match=r"homothety\.fresh belongs to no layer"):
        layer_of("homothety.fresh")
