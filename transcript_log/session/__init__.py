"""What the author of an agent uses: one session, and one call for each thing that happens in it."""

from __future__ import annotations

from ._log import Mode
from ._writing import LogView
from .calls import CallRecorder, OpenCall
from .compacting import CompactionPlan, Weigh
from .facade import Session
from .recording import Recorded
from .revising import Revise
from .runs import RunRecorder

__all__ = [
    "CallRecorder",
    "CompactionPlan",
    "LogView",
    "Mode",
    "OpenCall",
    "Recorded",
    "Revise",
    "RunRecorder",
    "Session",
    "Weigh",
]
