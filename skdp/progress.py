"""Progress of long searches: a tqdm bar if tqdm is installed, lines otherwise."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

__all__ = ["Progress", "progress_of"]

#: Called as ``progress(order, n_done, n_edges)``.
Progress = Callable[[int, int, int], None]


@contextmanager
def progress_of(verbose: int, title: str) -> Iterator[Progress | None]:
    """Open a display of a search's progress.

    Parameters
    ----------
    verbose : int
        0 for none.
    title : str
        Shown in front.

    Yields
    ------
    callable or None
        To be called after each edge as ``progress(order, n_done, n_edges)``.
    """
    if not verbose:
        yield None
        return
    try:
        from tqdm.auto import tqdm
    except ImportError:
        yield _print_orders(title)
        return
    with tqdm(desc=title, unit="edge") as bar:

        def update(order: int, n_done: int, n_edges: int) -> None:
            if n_done == 1:
                bar.reset(total=n_edges)
                bar.set_description(f"{title}, conditioning sets of {order}")
            bar.update(n_done - bar.n)

        yield update


def _print_orders(title: str) -> Progress:
    def update(order: int, n_done: int, n_edges: int) -> None:
        if n_done == n_edges:
            print(f"{title}: {n_edges} edges examined with sets of {order}")

    return update
