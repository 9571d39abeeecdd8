"""Entries as a user names them: by their ids, or by the beginning of one."""

from __future__ import annotations

from typing import Final

import click

from ..errors import EntryNotFoundError
from .source import Session
from .text import one_line

__all__ = ["chosen_entry"]

_SHOWN: Final = 8
"""How many ids are listed where a beginning fits several."""


def chosen_entry(session: Session, named: str) -> str:
    """The id of the entry that is named: that very id, else the only one that begins so.

    Raises:
        UsageError: Several ids begin so.
        EntryNotFoundError: None does, or nothing was named.
    """
    ids = dict.fromkeys(entry.id for entry in session.entries)
    if named in ids:
        return named
    found = [entry_id for entry_id in ids if named and entry_id.startswith(named)]
    if not found:
        raise EntryNotFoundError(named, session.path)
    if len(found) > 1:
        shown = ", ".join(found[:_SHOWN])
        more = f" and {len(found) - _SHOWN} more" if len(found) > _SHOWN else ""
        what = f"{len(found)} ids begin with {named!r}: {shown}{more}; give more of the one you mean"
        raise click.UsageError(one_line(f"{session.path}: {what}"))
    return found[0]
