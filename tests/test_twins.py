"""What is made quickly is what the constructor makes."""

from __future__ import annotations

import copy
import dataclasses
import pickle
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import details, message_entries

from transcript_log._twins import twin_of
from transcript_log.entries import Detail, MessageEntry, RecordedUsage


@given(st.one_of(message_entries(), details()))
def test_a_twin_becomes_what_the_constructor_makes(value: Any) -> None:
    cls = type(value)
    made = twin_of(cls)(*(getattr(value, field.name) for field in dataclasses.fields(cls)))
    made.__class__ = cls
    assert type(made) is cls
    assert made == value
    assert repr(made) == repr(value)
    assert copy.copy(made) == value
    assert pickle.loads(pickle.dumps(made)) == value


@pytest.mark.parametrize("cls", [MessageEntry, Detail, RecordedUsage])
def test_what_was_a_twin_is_frozen(cls: type[Any]) -> None:
    first, *_ = names = [field.name for field in dataclasses.fields(cls)]
    made = twin_of(cls)(*names)
    made.__class__ = cls
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(made, first, "other")
    assert getattr(made, first) == first
