"""What a release consists of: the sdist, the citation, and the files by which forges and container engines build it."""

from __future__ import annotations

import hashlib
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

import dist

ROOT = Path(__file__).resolve().parents[1]
WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml"))
MATURIN = Path(sys.executable).with_name("maturin")
VERSION = tomllib.loads((ROOT / "Cargo.toml").read_text(encoding="utf-8"))["workspace"]["package"]["version"]


def listed(*command: str) -> list[str]:
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout.splitlines() if done.returncode == 0 else []


@pytest.mark.skipif(not MATURIN.exists(), reason="no maturin beside this Python")
@pytest.mark.skipif(not (ROOT / ".git").exists() or not shutil.which("git"), reason="not a repository of Git")
def test_the_sdist_has_everything_that_is_under_version_control(tmp_path: Path) -> None:
    subprocess.run([MATURIN, "sdist", "--out", tmp_path], cwd=ROOT, check=True, capture_output=True)
    (file,) = tmp_path.iterdir()
    assert file.name == f"sojourn-{VERSION}.tar.gz"
    with tarfile.open(file) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
        (about,) = [archive.extractfile(member) for member in archive if member.name.endswith("PKG-INFO")]
        assert about is not None
        assert f"\nVersion: {VERSION}\n" in about.read().decode()
    kept = {name for name in listed("git", "ls-files") if (ROOT / name).exists()}
    assert kept - names == set()
    assert {name for name in names - kept if not name.startswith("python/sojourn/lab/")} == {"PKG-INFO"}


def read(file: Path) -> Any:
    return yaml.safe_load(file.read_text(encoding="utf-8"))


def test_the_citation_is_of_this_version_and_licence() -> None:
    citation = read(ROOT / "CITATION.cff")
    assert citation["version"] == VERSION
    assert citation["license"] == ["MIT", "Apache-2.0"]
    assert {"cff-version", "message", "title", "type", "authors"} <= citation.keys()


def steps(workflow: Any) -> list[str]:
    return [str(step.get("run", "")) for job in workflow["jobs"].values() for step in job["steps"]]


@pytest.mark.parametrize("file", WORKFLOWS, ids=lambda file: file.name)
def test_a_workflow_runs_the_gate_and_publishes_nothing(file: Path) -> None:
    workflow = read(file)
    assert steps({"jobs": {"gate": workflow["jobs"]["gate"]}})[-1] == ".ci/run"
    assert workflow["permissions"] == {"contents": "read"}, "a token that cannot write"
    assert not [line for line in steps(workflow) if re.search(r"twine|publish|upload|push|gh release", line)]
    for name, job in workflow["jobs"].items():
        others = set(job.get("strategy", {}).get("matrix", {}).get("os", []))
        assert (name == "untested") == bool(others), "what nobody has run says so"
        if others:
            assert {one.partition("-")[0] for one in others} == {"macos", "windows"}
            assert job["name"].startswith("untested")
            assert job["continue-on-error"] is True


def test_a_release_is_made_by_the_same_command_as_here() -> None:
    assert "make dist" in steps(read(ROOT / ".github/workflows/release.yml"))
    assert re.search(
        r"^dist: .*\n(\t.*\n)*\t.*tests/dist\.py$", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE
    )


def test_the_container_is_built_from_a_wheel_and_runs_as_no_root() -> None:
    text = re.sub(r"\\\n", " ", (ROOT / "Containerfile").read_text(encoding="utf-8"))
    lines = [line.split(maxsplit=1) for line in text.splitlines() if line and not line.startswith("#")]
    assert {word for word, _ in lines} <= {"FROM", "RUN", "COPY", "WORKDIR", "USER", "ENTRYPOINT", "CMD"}
    bases = [rest for word, rest in lines if word == "FROM"]
    assert len(bases) == 2, "the second has no compiler"
    assert all(re.fullmatch(r"\w+:\d[\w.-]+( AS \w+)?", base) for base in bases), "with a version"
    minimum = tomllib.loads((ROOT / "Cargo.toml").read_text(encoding="utf-8"))["workspace"]["package"]["rust-version"]
    rust = re.search(r"rust:(\d+)\.(\d+)", bases[0])
    assert rust is not None
    assert [int(part) for part in rust.groups()] >= [int(part) for part in minimum.split(".")]
    order = [word for word, _ in lines]
    assert order.index("USER") < order.index("ENTRYPOINT")


def test_the_sums_are_as_sha256sum_reads_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dist, "DIST", tmp_path)
    (tmp_path / "b.whl").write_bytes(b"b")
    (tmp_path / "a.tar.gz").write_bytes(b"a")
    text = dist.sums().read_text()
    assert text.splitlines()[0] == f"{hashlib.sha256(b'a').hexdigest()}  a.tar.gz"
    if checker := shutil.which("sha256sum"):
        subprocess.run([checker, "--check", "--strict", "SHA256SUMS"], cwd=tmp_path, check=True, capture_output=True)
