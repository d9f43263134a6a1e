"""Who may import whom. Imports inside functions count, and so do those that only type checkers see."""

import ast
import subprocess
import sys
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGES = {
    "schemas": {"schemas"},
    "mentor_stream": {"schemas", "mentor_stream"},
    "producers": {"schemas", "mentor_stream", "producers"},
    "consumers": {"schemas", "mentor_stream", "consumers"},
    "trainer": {"schemas", "mentor_stream", "trainer"},
}
"""Each package, and which of ours it may import."""
LAYERS = (
    {"amounts", "drafts", "keys", "weights"},
    {"answers", "broker", "causes", "legible", "complaints", "config", "snapshots"},
    {"disk", "exits", "metrics", "plugins", "prompts", "topics"},
    {"process", "sampling", "sizing", "stream", "workers"},
    {"claims", "releases", "telemetry"},
    {"supervisor"},
    {"component", "tools"},
    {"commands"},
    {"cli"},
)
"""What lies in mentor_stream, the lowest first: whatever is in one line knows only the lines above it."""
CHOSEN_BY_NAME = {
    "mentor_stream.broker": {"base", "background", "gap", "prefix", "restoration", "sizes", "waiting"},
    "producers.engines": {"base"},
    "producers.rewards": {"base", "code"},  # script runs programs in the sandbox of code
    "consumers.guides": {"base"},
    "consumers.guides.fdcg.agents": {"base"},
}
"""A run's config names one of the parts in here, so a new part is a new file or folder: of what lies there
others import these modules only."""
COMPONENTS = {
    "producers.feeder",
    "producers.rollout",
    "producers.evaluator",
    "consumers.mentor",
    "trainer.component",
}
"""Found by their entry points."""
ONLY_IN = {
    "kafka": ("mentor_stream.broker.kafka",),
    "sqlite3": ("mentor_stream.broker.sqlite",),
    "openai": ("consumers.chat",),
    "prometheus_client": ("mentor_stream.metrics.exposition",),
    "tensorboard": ("consumers.writers.tensorboard",),
    "wandb": ("consumers.writers.weights_and_biases",),
    "httpx2": ("consumers.chat", "producers.engines.vllm.api"),
    "matplotlib": ("mentor_stream.supervisor.curves",),
    "megatron": ("trainer",),
    "datasets": ("producers.datasets.hub",),
    "fsspec": ("mentor_stream.snapshots.store",),
    "pyarrow": ("producers.datasets.parquet", "producers.datasets.saved", "consumers.archive.parquet"),
    "hypercorn": ("consumers.monitor.tool",),
    "starlette": ("consumers.monitor.gate", "consumers.monitor.web"),
    "tomli_w": ("consumers.archive.settings",),
    "scipy": ("producers.evaluation.estimates",),
    "transformer_engine": (),
    "torch": (
        "producers.engines.transformers",
        "producers.engines.vllm.receiving",
        "producers.engines.vllm.transfer",
        "trainer",
    ),
    "trio": (),
    "vllm": ("producers.engines.vllm.plugin", "producers.engines.vllm.transfer"),
    "typer": ("mentor_stream.commands", "mentor_stream.cli"),
}
"""Libraries, and the parts that alone know them."""


@cache
def modules() -> dict[str, Path]:
    """All modules of ours by name."""
    return {name(path): path for package in PACKAGES for path in (ROOT / package).rglob("*.py")}


def name(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@cache
def imports(module: str) -> frozenset[str]:
    """The modules that a module imports, ours and others."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(modules()[module].read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.module is not None, f"{module} has a relative import"
            assert node.level == 0, f"{module} has a relative import"
            wholes = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= {whole if whole in modules() else node.module for whole in wholes}
    return frozenset(found)


def lies_in(module: str, *places: str) -> bool:
    """Whether a module is one of the places, or is in one that is a package."""
    return any(f"{module}.".startswith(f"{place}.") for place in places)


def arrows() -> list[tuple[str, str]]:
    """Every import of a module of ours: who, and whom."""
    return [(one, other) for one in modules() for other in imports(one) if other in modules()]


@pytest.mark.parametrize("package", PACKAGES)
def test_a_package_imports_only_what_lies_below_it(package: str) -> None:
    known = {other.split(".")[0] for one, other in arrows() if lies_in(one, package)}
    assert known <= PACKAGES[package]


def test_no_module_imports_itself_by_a_detour() -> None:
    try:
        TopologicalSorter({module: imports(module) & modules().keys() for module in modules()}).prepare()
    except CycleError as error:
        pytest.fail(" imports ".join(reversed(error.args[1])))


def test_inside_mentor_stream_no_arrow_runs_up() -> None:
    heights = {part: height for height, parts in enumerate(LAYERS) for part in parts}
    inside = [(one, other) for one, other in arrows() if one.startswith("mentor_stream.")]
    for one, other in inside:
        if other != "mentor_stream" and lies_in(other, "mentor_stream"):
            lower, upper = other.split(".")[1], one.split(".")[1]
            assert lower == upper or heights[lower] < heights[upper], f"{one} imports {other}"


@pytest.mark.parametrize("family", CHOSEN_BY_NAME)
def test_parts_that_a_config_chooses_are_known_to_nobody(family: str) -> None:
    for one, other in arrows():
        if other.startswith(f"{family}."):
            part = other.removeprefix(f"{family}.").split(".")[0]
            assert part in CHOSEN_BY_NAME[family] or lies_in(one, f"{family}.{part}"), (
                f"{one} imports {other}"
            )


def test_commands_are_known_to_the_command_line_alone() -> None:
    for one, other in arrows():
        if lies_in(other, "mentor_stream.commands"):
            assert lies_in(one, "mentor_stream.commands", "mentor_stream.cli"), f"{one} imports {other}"


def test_components_are_known_to_nobody() -> None:
    known = [(one, other) for one, other in arrows() if other in COMPONENTS]
    assert [arrow for arrow in known if not arrow[0].endswith(".__main__")] == []


@pytest.mark.parametrize("library", ONLY_IN)
def test_a_library_is_imported_in_its_one_place_only(library: str) -> None:
    users = {module for module in modules() for other in imports(module) if lies_in(other, library)}
    assert {module for module in users if not lies_in(module, *ONLY_IN[library])} == set()


def test_loading_every_component_and_its_configuration_imports_no_heavy_library() -> None:
    code = (
        "import sys; from mentor_stream.component import components; components();"
        "print([m for m in ('torch','megatron','transformers','openai','math_verify','matplotlib','kafka',"
        "'prometheus_client') if m in sys.modules])"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"


def test_help_imports_neither_torch_nor_our_own_components() -> None:
    code = (
        "import sys; from mentor_stream.cli import app\n"
        "try: app(['--help'])\n"
        "except SystemExit: pass\n"
        "print([m for m in ('torch','numpy','pydantic','trio','producers','trainer') if m in sys.modules])"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip().splitlines()[-1] == "[]"
