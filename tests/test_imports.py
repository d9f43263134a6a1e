"""Who may import whom: schemas, then mentor_stream, then producers, consumers and trainer side by side."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
OURS = {"schemas", "mentor_stream", "producers", "consumers", "trainer"}
ALLOWED = {
    "schemas": {"schemas"},
    "mentor_stream": {"schemas", "mentor_stream"},
    "producers": {"schemas", "mentor_stream", "producers"},
    "consumers": {"schemas", "mentor_stream", "consumers"},
    "trainer": {"schemas", "mentor_stream", "trainer"},
}
MAY_IMPORT_TORCH = ROOT / "producers/engines/transformers"


def imports(path: Path) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            found.add(node.module.split(".")[0])
    return found


@pytest.mark.parametrize("package", sorted(OURS))
def test_a_package_imports_only_what_lies_below_it(package: str) -> None:
    for path in (ROOT / package).rglob("*.py"):
        assert imports(path) & OURS <= ALLOWED[package], path


def test_only_the_trainer_and_the_in_process_engine_import_torch() -> None:
    for package in OURS - {"trainer"}:
        for path in (ROOT / package).rglob("*.py"):
            if MAY_IMPORT_TORCH not in path.parents:
                assert not imports(path) & {"torch", "megatron"}, path


def test_loading_every_component_and_its_configuration_imports_no_heavy_library() -> None:
    code = (
        "import sys; from mentor_stream.component import components; components();"
        "print([m for m in ('torch','megatron','transformers','openai','math_verify','matplotlib','kafka')"
        " if m in sys.modules])"
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
