"""Rules of the house that no single test of a room can hold."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

from cli import main
from cli.prescale import commands as prescaling

REPOSITORY = Path(__file__).parents[2]

# Each package and those of ours it may import. `stacks <- capacity <- evidence | infra | prescale <- cli`.
MAY_IMPORT = {
    "stacks": {"stacks"},
    "capacity": {"stacks", "capacity"},
    "evidence": {"stacks", "capacity", "evidence"},
    "infra": {"stacks", "capacity", "infra"},
    "prescale": {"stacks", "capacity", "prescale"},
    "sandbox": {"stacks", "sandbox"},
    "cli": {"stacks", "capacity", "evidence", "infra", "prescale", "sandbox", "cli"},
}
# The same inside packages of many modules: each module or group of modules there, and those beside it that it may
# import. First what everything there stands on.
CAPACITY_MAY_IMPORT: dict[str, set[str]] = {
    "replicas": set(),
    "request": set(),
    "shown": set(),
    "spread": set(),
    "models": {"replicas", "request"},
    "sweeps": {"shown"},
    "sizing": {"replicas", "request", "shown", "spread", "models", "sweeps"},
    "recordings": {"request", "sweeps", "sizing"},
    "purchase": {"replicas", "spread", "sizing"},
}
EVIDENCE_MAY_IMPORT: dict[str, set[str]] = {
    "documents": set(),
    "record": set(),
    "formats": set(),
    "walk": {"formats"},
    "collection": {"formats"},
    "files": {"documents", "record", "formats", "walk", "collection"},
    "comparison": {"record"},
    "prometheus": set(),
    "recording": {"prometheus"},
}
_OF_EVERY_COMMAND = {"exits", "late_group", "options", "output"}
CLI_MAY_IMPORT: dict[str, set[str]] = {
    **{name: set() for name in sorted(_OF_EVERY_COMMAND)},  # in one order for all workers
    "main": _OF_EVERY_COMMAND,
    "svg": set(),
    "preview": _OF_EVERY_COMMAND,
    "schema": _OF_EVERY_COMMAND,
    "sandbox": _OF_EVERY_COMMAND,
    "bench": {*_OF_EVERY_COMMAND, "svg"},
    "prices": _OF_EVERY_COMMAND,
    "prescale": {*_OF_EVERY_COMMAND, "svg"},
    "review": {*_OF_EVERY_COMMAND, "prescale"},
    "size": {*_OF_EVERY_COMMAND, "bench", "prices", "svg"},
}
# What runs the control plane, the doubles, the doors.
_BASIC = {"faults", "interruption", "places", "layout", "processes"}
SANDBOX_MAY_IMPORT: dict[str, set[str]] = {
    "faults": set(),
    "interruption": set(),
    "places": set(),
    "machine": set(),
    "layout": {"faults", "places"},
    "processes": {"faults", "interruption", "places"},
    "toolchain": _BASIC,
    "control_plane": _BASIC,
    "for_pulumi": {*_BASIC, "toolchain"},
    "directory": _BASIC,
    "lifecycle": {*_BASIC, "directory", "toolchain", "control_plane", "for_pulumi"},
    "engine": {"processes"},
    "balancer": {"processes", "control_plane"},
    "kubelet": {"processes", "control_plane", "engine"},
    "load": {"processes", "balancer"},
    "for_stack": {*_BASIC, "control_plane", "for_pulumi", "lifecycle"},
    "sale": {*_BASIC, "machine", "toolchain", "control_plane", "lifecycle", "load", "for_stack"},
    "reliability": {*_BASIC, "machine", "directory", "toolchain", "control_plane", "lifecycle", "for_stack"},
}
MAY_IMPORT_INSIDE = {
    "capacity": CAPACITY_MAY_IMPORT,
    "evidence": EVIDENCE_MAY_IMPORT,
    "cli": CLI_MAY_IMPORT,
    "sandbox": SANDBOX_MAY_IMPORT,
}
OURS = {*MAY_IMPORT, "tests", "docs", "templates"}
_EVERY_DOOR = (*main.COMMANDS.values(), *prescaling.COMMANDS.values())
SLOW = ("pulumi", "pulumi_kubernetes", "boto3", "rich", "lightkube", "jsonschema", "jinja2")

MODULE_LINES = 250
FUNCTION_LINES = 60


def _modules(package: str) -> list[Path]:
    return sorted((REPOSITORY / package).rglob("*.py"))


def _tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"), str(path))


def _imports(path: Path) -> Iterator[str]:
    """Top-level names of everything imported, in functions too."""
    for node in ast.walk(_tree(path)):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield (node.module or "").partition(".")[0] if node.level == 0 else path.relative_to(REPOSITORY).parts[0]


@pytest.mark.parametrize("package", MAY_IMPORT)
def test_imports_point_one_way(package: str) -> None:
    wrong = [
        f"{path.relative_to(REPOSITORY)} imports {name}"
        for path in _modules(package)
        for name in _imports(path)
        if name in OURS - MAY_IMPORT[package]
    ]
    assert wrong == []


@pytest.mark.parametrize(
    ("package", "group"), [(package, group) for package, groups in MAY_IMPORT_INSIDE.items() for group in groups]
)
def test_imports_point_one_way_inside_a_package(package: str, group: str) -> None:
    module = REPOSITORY / package / f"{group}.py"
    paths = [module] if module.exists() else _modules(f"{package}/{group}")
    wrong = [
        f"{path.relative_to(REPOSITORY)} imports {name}"
        for path in paths
        for name in _imports_inside(package, path)
        if name not in {group, *MAY_IMPORT_INSIDE[package][group]}
    ]
    assert paths
    assert wrong == []


def _imports_inside(package: str, path: Path) -> Iterator[str]:
    """Of `sandbox`: `layout` for `from sandbox.layout import Layout`, and for `from sandbox import layout`."""
    for node in ast.walk(_tree(path)):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import | ast.ImportFrom) else []
        if isinstance(node, ast.ImportFrom):
            names = [f"{node.module}.{name}" for name in names]
        yield from (name.split(".")[1] for name in names if name.startswith(f"{package}."))


def test_every_package_has_its_rule() -> None:
    found = {path.parent.name for path in REPOSITORY.glob("*/__init__.py")}
    assert found <= OURS


@pytest.mark.parametrize("package", MAY_IMPORT_INSIDE)
def test_every_part_of_a_package_has_its_rule(package: str) -> None:
    parts = {path.stem for path in (REPOSITORY / package).glob("*.py")} - {"__init__"}
    parts |= {path.parent.name for path in (REPOSITORY / package).glob("*/__init__.py")}
    assert parts == set(MAY_IMPORT_INSIDE[package])


@pytest.mark.parametrize("package", MAY_IMPORT_INSIDE)
def test_no_circle_is_allowed_inside_a_package(package: str) -> None:
    list(TopologicalSorter(MAY_IMPORT_INSIDE[package]).static_order())  # raises CycleError


@pytest.mark.parametrize("module", ["cli.main", *sorted({module for module, _, _ in _EVERY_DOOR})])
def test_a_door_imports_nothing_slow(module: str) -> None:
    """Cron runs the command line every few minutes; what a command needs it imports when it is called."""
    program = f"import sys, {module}; print(*[name for name in {SLOW!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", program], cwd=REPOSITORY, capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


def test_a_run_with_nothing_to_do_needs_no_spec() -> None:
    """Pydantic and the models of a stack's files take longer to load than the API server to answer."""
    needed = "cli.prescale.sync, cli.prescale.sync_text, prescale.briefs.keeping, prescale.whole_run"
    program = f"import sys, {needed}; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], cwd=REPOSITORY, capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    assert {"prescale.decision", "lightkube"} <= loaded
    assert not loaded & {"pydantic", "stacks.spec", "stacks.loader", "prescale.windows.timetable"}


@pytest.mark.parametrize("package", ["stacks", "capacity"])
def test_pure_packages_know_no_engine_and_no_cluster(package: str) -> None:
    for path in _modules(package):
        assert not {*SLOW} & {*_imports(path)}, path


def test_no_module_of_the_program_hides_one_of_the_standard_library() -> None:
    """Pulumi puts the program's folder at the head of `sys.path`."""
    names = {path.stem for path in (REPOSITORY / "infra").glob("*.py")} - {"__init__", "__main__"}
    names |= {path.parent.name for path in (REPOSITORY / "infra").glob("*/__init__.py")}
    assert not names & sys.stdlib_module_names


def _components() -> Iterator[tuple[Path, ast.Module, ast.ClassDef]]:
    for path in _modules("infra"):
        tree = _tree(path)
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef) and any("ComponentResource" in ast.unparse(base) for base in node.bases):
                yield path, tree, node


def test_components_name_their_type_and_register_their_outputs() -> None:
    tokens = []
    for path, tree, component in _components():
        text = ast.unparse(component)
        assert "self.register_outputs(" in text, f"{path.name}: {component.name}"
        assert "super().__init__(TYPE, name, None, opts)" in text, f"{path.name}: {component.name}"
        (token,) = [
            node.value.value
            for node in tree.body
            if isinstance(node, ast.Assign)
            and ast.unparse(node.targets[0]) == "TYPE"
            and isinstance(node.value, ast.Constant)
        ]
        assert isinstance(token, str)
        assert re.fullmatch(r"warmline:[a-z]+:[A-Z][A-Za-z]+", token)
        assert token.rpartition(":")[2] == component.name
        tokens.append(token)
    assert len(tokens) >= 4
    assert len(set(tokens)) == len(tokens)


def test_components_leave_the_callers_options_to_the_caller() -> None:
    """Merged, they would make the caller's parent and aliases the children's."""
    for path in _modules("infra"):
        for node in ast.walk(_tree(path)):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "merge":
                pytest.fail(f"{path.name}:{node.lineno} merges resource options")
    for path, _, component in _components():
        for node in ast.walk(component):
            if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("ResourceOptions"):
                keywords = {item.arg: ast.unparse(item.value) for item in node.keywords}
                assert keywords.get("parent") == "self", f"{path.name}:{node.lineno}"


def test_a_custom_resource_has_one_builder() -> None:
    users = {
        path.name
        for path in _modules("infra")
        for node in ast.walk(_tree(path))
        if isinstance(node, ast.alias | ast.Attribute) and "CustomResource" in ast.unparse(node)
    }
    assert users == {"scaled_object.py"}


def test_names_of_stacks_are_not_hard_coded() -> None:
    """WARMLINE_STACKS_DIR may point elsewhere; only the loader knows where stacks are."""
    for package in ("infra", "prescale", "cli", "capacity"):
        for path in _modules(package):
            for node in ast.walk(_tree(path)):
                if isinstance(node, ast.Constant) and isinstance(node.value, str):
                    assert not re.fullmatch(r"(\./)?stacks(/.*)?", node.value), f"{path}:{node.lineno}"


@pytest.mark.parametrize("package", MAY_IMPORT)
def test_modules_and_functions_are_readable_at_a_sitting(package: str) -> None:
    long = []
    for path in _modules(package):
        name = path.relative_to(REPOSITORY)
        lines = len(path.read_text(encoding="utf-8").splitlines())
        long += [f"{name}: {lines} lines"] if lines > MODULE_LINES else []
        for node in ast.walk(_tree(path)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                length = (node.end_lineno or 0) - node.lineno + 1
                long += [f"{name}: {node.name} has {length} lines"] if length > FUNCTION_LINES else []
    assert long == []


def test_every_stack_refuses_default_providers_of_kubernetes() -> None:
    """Without it a resource that lost its provider goes to whatever the kubeconfig names, silently."""
    import yaml

    files = sorted((REPOSITORY / "stacks").glob("Pulumi.*.yaml"))
    assert files
    for path in files:
        config = yaml.safe_load(path.read_text(encoding="utf-8"))["config"]
        assert "kubernetes" in config["pulumi:disable-default-providers"]
