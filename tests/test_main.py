"""The main job, as a user runs it."""

from __future__ import annotations

import subprocess
import sys

import pytest

from skdp.__main__ import main


def test_main_job(tmp_path, capsys) -> None:
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    picture = tmp_path / "graph.png"
    main(["--records", "20000", "--noise-seed", "0", "--picture", str(picture)])
    printed = capsys.readouterr().out
    for words in ("smoke - lung", "F1", "Guarantee", '"total_epsilon"', str(picture)):
        assert words in printed
    assert picture.stat().st_size > 10_000


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
    assert "matplotlib is not installed" in done.stdout
    assert not list(tmp_path.iterdir())


def test_bad_options_are_refused(capsys) -> None:
    with pytest.raises(SystemExit):
        main(["--network", "nowhere"])
    assert "invalid choice" in capsys.readouterr().err
