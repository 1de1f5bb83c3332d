"""Which process this is: a token that no fork and no other machine shares.

Process ids do not do: containers all have a process 1.
"""

from __future__ import annotations

import os
import secrets

__all__ = ["process_token"]

_token: str | None = None


def process_token() -> str:
    """Return the token of this process; a forked child has another one.

    Returns
    -------
    str
        Random, and the same for the life of the process.
    """
    global _token
    if _token is None:
        _token = secrets.token_hex(16)
    return _token


def _forget() -> None:
    global _token
    _token = None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
