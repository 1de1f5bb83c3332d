"""The main job, as a user runs it, and the examples of the documents."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from skdp import MarginalPC, PrivPC
from skdp.__main__ import main
from skdp.datasets import load_bayesian_network

REPOSITORY = Path(__file__).resolve().parents[1]


def run(capsys, *options: str) -> str:
    main(options)
    return capsys.readouterr().out


def test_main_job(tmp_path, capsys, monkeypatch) -> None:
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    monkeypatch.chdir(tmp_path)
    printed = run(capsys, "--noise-seed", "0", "--picture", "graph.png")
    for words in (
        "100000 records of asia, sampled from its tables",
        "MarginalPC is 1-differentially private",
        "Ledger\n  laplace\n    laplace: one answer on Marginal(",
        "as zCDP",
        "spent: epsilon 1 at delta 0",
        "noise is that of seed 0",
        f"Picture saved to {tmp_path / 'graph.png'}",
    ):
        assert words in printed
    assert "{" not in printed
    assert (tmp_path / "graph.png").stat().st_size > 10_000


def test_the_table_says_what_is_good(tmp_path, capsys) -> None:
    printed = run(capsys, "--noise-seed", "0", "--picture", str(tmp_path / "g.svg"))
    rows = dict(re.findall(r"^  (\S.*?)  +(\d\.\d\d +.*)$", printed, re.MULTILINE))
    assert list(rows) == [
        "MarginalPC(1, 0)",
        "PC, without privacy",
        "every pair kept",
    ]
    f1 = {name: float(row.split()[2]) for name, row in rows.items()}
    assert f1["every pair kept"] == 0.44 < f1["MarginalPC(1, 0)"]
    assert rows["PC, without privacy"].split() == ["1.00", "0.88", "0.93", "1"]
    assert "PC is a second fit on the sampled data" in printed


def test_edges_are_shown_with_directions_beside_the_true_ones(tmp_path, capsys) -> None:
    options = ["--estimator", "PrivPC", "--noise-seed", "0"]
    printed = run(capsys, *options, "--picture", str(tmp_path / "g.svg"))
    lines = re.findall(r"^  (.{24})(\w+ (?:->|--) \w+|no edge)$", printed, re.MULTILINE)
    true, learned = (
        list(map(str.strip, column)) for column in zip(*lines, strict=True)
    )
    assert {"asia -- tub", "tub -> either", "smoke -- lung", "no edge"} <= set(true)
    assert len(true) - true.count("no edge") == 8
    for ours, theirs in zip(true, learned, strict=True):
        assert ours != theirs or ours != "no edge"
        assert "no edge" in (ours, theirs) or set(ours.split()) - {"->", "--"} == set(
            theirs.split()
        ) - {"->", "--"}


def test_fresh_noise_and_json(tmp_path, capsys) -> None:
    options = ["--network", "survey", "--estimator", "PrivPC", "--json"]
    printed = run(capsys, *options, "--picture", str(tmp_path / "g.PNG"))
    assert (
        "The noise is fresh: each run finds another graph; --noise-seed 0 repeats one."
        in printed.splitlines()
    )
    (ledger,) = (line for line in printed.splitlines() if line.startswith("{"))
    assert json.loads(ledger)["total_epsilon"] == 1
    assert "PrivPC(1, 0)" in printed


def test_runs_without_the_extras(tmp_path) -> None:
    code = (
        "import sys\n"
        "for name in ('matplotlib', 'pandas', 'tqdm', 'polars'):\n"
        "    sys.modules[name] = None\n"
        "from skdp.__main__ import main\n"
        "main(['--network', 'cancer', '--records', '5000'])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr
    assert "matplotlib is not installed (pip install matplotlib)" in done.stdout
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("--network nowhere", "invalid choice"),
        ("--epsilon 0", "argument --epsilon: must be a number above 0, got 0"),
        ("--epsilon nan", "must be a number above 0"),
        ("--epsilon inf", "must be a number above 0"),
        ("--epsilon much", "invalid number value"),
        ("--delta 1", "argument --delta: must be a number at least 0 and below 1"),
        ("--delta -0.1", "at least 0 and below 1"),
        ("--records 0", "argument --records: must be a number at least 2, got 0"),
        ("--records 1", "at least 2"),
        ("--records 2.5", "invalid whole number value"),
        ("--data-seed -1", "argument --data-seed"),
        ("--noise-seed 4294967296", "argument --noise-seed: must be a number"),
        ("--picture nowhere/graph.png", "graph.png cannot be written"),
        ("--picture folder.png", "folder.png cannot be written"),
        ("--picture graph.docx", "its name has to end in .png, .pdf, .svg, .jpg"),
        ("--picture graph", "its name has to end in .png"),
    ],
)
def test_bad_options_are_refused_before_the_fit(
    tmp_path, capsys, monkeypatch, options, message
) -> None:
    if "cannot be written" in message:
        pytest.importorskip("matplotlib")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder.png").mkdir()
    monkeypatch.setattr(MarginalPC, "fit", None)
    with pytest.raises(SystemExit) as stopped:
        main(options.split())
    assert stopped.value.code == 2
    assert message in capsys.readouterr().err


@pytest.mark.filterwarnings("ignore::skdp.exceptions.PrivacyBudgetWarning")
def test_a_budget_below_all_noise_is_no_traceback(tmp_path, capsys) -> None:
    with pytest.raises(SystemExit):
        main(["--epsilon", "1e-300", "--delta", "0", "--picture", f"{tmp_path}/g.png"])
    assert "This answer cost nothing" in capsys.readouterr().err


@pytest.mark.filterwarnings("ignore::skdp.exceptions.PrivacyBudgetWarning")
def test_the_fewest_records(tmp_path, capsys) -> None:
    assert "2 records" in run(
        capsys, "--records", "2", "--picture", f"{tmp_path}/g.png"
    )


def test_no_hint_fetches_a_stranger_of_the_same_name() -> None:
    hint = re.compile(r"pip install ['\"]?skdp")
    for path in (REPOSITORY / "skdp").rglob("*.py"):
        assert not hint.search(path.read_text(encoding="utf-8")), path


def python_blocks(text: str, start: str, end: str) -> list[str]:
    """List the blocks of code of a document."""
    blocks = re.findall(rf"^{start}\n(.*?)^{end}", text, re.DOTALL | re.MULTILINE)
    return [textwrap.dedent(block) for block in blocks]


def readme_blocks() -> list[str]:
    return python_blocks(
        (REPOSITORY / "README.md").read_text(encoding="utf-8"), "```python", "```"
    )


@pytest.mark.filterwarnings("ignore::skdp.exceptions.PrivacyBudgetWarning")
@pytest.mark.parametrize("number", range(len(readme_blocks())))
def test_examples_of_the_readme_run_alone(number, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    exec(compile(readme_blocks()[number], f"README.md, {number}", "exec"), names)
    assert set(names) - {"__builtins__"}  # it has done something


def documented(name: str) -> list[str]:
    text = (REPOSITORY / "docs" / name).read_text(encoding="utf-8")
    return python_blocks(text + "\n.", r"\.\. code-block:: python", r"(?=\S)")


@pytest.mark.filterwarnings("ignore::skdp.exceptions.PrivacyBudgetWarning")
def test_examples_of_getting_started_run_in_turn(tmp_path, monkeypatch) -> None:
    pytest.importorskip("matplotlib").use("agg")
    pytest.importorskip("pandas")
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    for block in documented("getting_started.rst"):
        exec(compile(block, "getting_started.rst", "exec"), names)
    for file in ("graph.png", "graph.graphml", "schema.json", "privacy.txt"):
        assert (tmp_path / file).stat().st_size > 0


@pytest.mark.filterwarnings("ignore::skdp.exceptions.PrivacyBudgetWarning")
def test_the_example_on_a_csv_file_runs_alone(tmp_path, monkeypatch) -> None:
    pytest.importorskip("pandas")
    monkeypatch.chdir(tmp_path)
    (block,) = (b for b in documented("getting_started.rst") if "read_csv" in b)
    names: dict[str, object] = {}
    exec(compile(block, "getting_started.rst", "exec"), names)
    assert names["private"].skeleton_.has_edge("smoker", "cough")


def test_another_library_agrees_as_documented(capsys) -> None:
    pytest.importorskip("dp_accounting")
    network = load_bayesian_network("asia")
    model = PrivPC(3.0, 1e-6, schema=network.schema, random_state=0)
    names = {"private": model.fit(network.sample(20_000, random_state=0))}
    for block in documented("privacy_model.rst"):
        exec(compile(block, "privacy_model.rst", "exec"), names)
    coarse, fine = map(float, capsys.readouterr().out.split())
    assert coarse == pytest.approx(3.0026, abs=1e-4)
    assert fine == pytest.approx(3.0003, abs=2e-4)


def test_ci_says_in_which_step_it_failed() -> None:
    script = (REPOSITORY / ".ci" / "run").read_text(encoding="utf-8")
    assert "trap failed ERR" in script
    stopped = subprocess.run(
        ["bash", "-c", f"set -euo pipefail\n{trap_of(script)}\nstep 'one'\nfalse"],
        capture_output=True,
        text=True,
    )
    assert stopped.returncode == 1
    assert "failed in the step: one" in stopped.stderr


def trap_of(script: str) -> str:
    """Return the lines of the script that announce steps and failures."""
    starts = ("current=", "step()", "failed()", "trap failed")
    return "\n".join(line for line in script.split("\n") if line.startswith(starts))
