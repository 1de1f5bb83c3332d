"""Which process this is: a token that no fork and no other machine shares.

Process ids do not do: containers all have a process 1.
"""

from __future__ import annotations

import os
import secrets

__all__ = ["process_token"]

_tokens: dict[str, str] = {}


def process_token() -> str:
    """Return the token of this process; a forked child has another one.

    Returns
    -------
    str
        Random, and the same for the life of the process.
    """
    # One step, so that threads that ask first at the same time get the same token.
    found = _tokens.get("this")
    return found or _tokens.setdefault("this", secrets.token_hex(16))


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_tokens.clear)
