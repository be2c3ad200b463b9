"""`PYTHONPATH=docs python -m website [OUT]`: builds the site into OUT, by default build/site; `make site` does it."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

from website import check, stage

ROOT = Path(__file__).resolve().parents[2]
LAB = ROOT / "web/dist"
HERE = Path(__file__).resolve().parent


def main() -> int:
    """Exit code 1 if the site is wrong, 2 if it cannot be built."""
    out = Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "build/site").resolve()
    work = out.with_name(out.name + "-work")
    try:
        config = (HERE / "zensical.toml").read_text(encoding="utf-8")
        stage.stage(ROOT, work, config, with_lab=(LAB / "index.html").is_file())
    except stage.StageError as error:
        print(f"site: {error}", file=sys.stderr)
        return 2
    shutil.copyfile(HERE / "site.css", work / "docs/site.css")
    zensical = Path(sys.executable).with_name("zensical")
    if not zensical.exists():
        print("site: no zensical beside this Python; pip install --group site", file=sys.stderr)
        return 2
    built = subprocess.run([zensical, "build", "--clean", "-f", work / "zensical.toml"], cwd=work, check=False)
    if built.returncode:
        return 2
    site = work / "site"
    _figures(site / "figure")
    _lab(site / "lab")
    found = list(check.problems(site))
    for line in found:
        print(f"site: {line}", file=sys.stderr)
    if found:
        return 1
    shutil.rmtree(out, ignore_errors=True)
    site.rename(out)
    shutil.rmtree(work)
    count = sum(1 for _ in out.rglob("*.html"))
    print(f"site: {count} pages, every link leads somewhere, nothing is asked of other hosts")
    print(f"next: {Path(sys.executable).name} -m http.server -d {out} --bind 127.0.0.1")
    return 0


def _figures(out: Path) -> None:
    """The module of the live figures; where it cannot be built, its name stays and pictures are still."""
    script, node = ROOT / "web/figures.mjs", shutil.which("node")
    missing = (
        "no Node" if not node
        else "no web/node_modules (cd web && npm ci)" if not (ROOT / "web/node_modules/esbuild").is_dir()
        else "no web/src/wasm/sojourn_bg.wasm (make web)" if not (ROOT / "web/src/wasm/sojourn_bg.wasm").is_file()
        else ""
    )  # fmt: skip
    if node and not missing:
        subprocess.run([node, script, out], check=True)
        return
    print(f"skipped: live figures ({missing}); the pictures are still")
    out.mkdir(parents=True)
    (out / "figure.js").write_text("// Live figures were not built.\n", encoding="utf-8")
    (out / "figure.css").write_text("/* Live figures were not built. */\n", encoding="utf-8")


def _lab(out: Path) -> None:
    """The lab beside the documents, where `make web` has built it."""
    if (LAB / "index.html").is_file():
        shutil.copytree(LAB, out)
    else:
        print("skipped: the lab at lab/ (make web)")


if __name__ == "__main__":
    sys.exit(main())
