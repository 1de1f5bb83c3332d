"""What every benchmark shares: where results are kept, and what they say of a run."""

from __future__ import annotations

import json
import os
import platform
import sys
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parent / "results"


def keep(name: str, results: Any, packages: Sequence[str] = ()) -> Path:
    """Write results to benchmarks/results/NAME.json, with how they came about."""
    RESULTS.mkdir(exist_ok=True)
    names = [
        "skdp",
        "numpy",
        "scipy",
        "scikit-learn",
        "networkx",
        "randomgen",
        *packages,
    ]
    content = {
        "command": " ".join(["python", Path(sys.argv[0]).as_posix(), *sys.argv[1:]]),
        "date": datetime.now(UTC).date().isoformat(),
        "python": platform.python_version(),
        "machine": f"{platform.machine()}, {os.cpu_count()} cores",
        "versions": {name: installed(name) for name in names},
        "results": results,
    }
    path = RESULTS / f"{name}.json"
    path.write_text(json.dumps(content, indent=1) + "\n")
    print(f"kept in {path.relative_to(RESULTS.parent.parent)}")
    return path


def installed(name: str) -> str:
    """Return the installed version of a package."""
    try:
        return version(name)
    except PackageNotFoundError:
        return "source tree" if name == "skdp" else "absent"


def table(header: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """Lay out rows as a Markdown table."""
    lines = ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
    for row in rows:
        cells = (f"{c:.3f}" if isinstance(c, float) else str(c) for c in row)
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)
