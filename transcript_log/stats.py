"""What a session took of its models: tokens, per response and in sums.

All of it is taken from the entries. A response is counted once, by the provider's id of it,
wherever and however often it stands: pieces of one answer repeat their usage, and forks copy
entries. The request that made a compaction counts too, and is told apart.

Buckets are those of :class:`transcript_log.entries.RecordedUsage`: input that is neither read
from a cache nor written to one, cache reads, cache writes, and output are disjoint, and their
sum is the provider's total.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from decimal import Decimal
from typing import Final, Literal, TypeAlias, get_args

from .entries import CompactionEntry, Entry, MessageEntry, RecordedUsage, RunEntry

__all__ = [
    "GROUPINGS",
    "NOTHING",
    "Group",
    "Grouping",
    "Ledger",
    "Price",
    "Spent",
    "Tokens",
    "context_size",
    "find_spent",
    "group_spent",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Tokens:
    """The tokens of some responses, added up. ``a + b`` adds them; :data:`NOTHING` is zero.

    Attributes:
        responses: How many they are.
        untold: Of how many of them nobody told the tokens, or not the input.
        input: Input that was neither read from a cache nor written to one.
        cache_read: Input that came from a cache.
        cache_write: Input that was written to a cache.
        output: All output, reasoning included.
        total: All tokens, as the providers count them; more than the buckets only where an
            input was not told.
    """

    responses: int = 0
    untold: int = 0
    input: int = 0
    cache_read: int = 0
    cache_write: int = 0
    output: int = 0
    total: int = 0

    @property
    def all_input(self) -> int:
        """The whole input, cached or not."""
        return self.input + self.cache_read + self.cache_write

    def __add__(self, other: Tokens) -> Tokens:
        return Tokens(
            responses=self.responses + other.responses,
            untold=self.untold + other.untold,
            input=self.input + other.input,
            cache_read=self.cache_read + other.cache_read,
            cache_write=self.cache_write + other.cache_write,
            output=self.output + other.output,
            total=self.total + other.total,
        )

    @classmethod
    def of(cls, usage: RecordedUsage | None) -> Tokens:
        """The tokens of one response; None and zeros mean that nobody told them."""
        if usage is None:
            return cls(responses=1, untold=1)
        buckets = _buckets(usage)
        return cls(
            responses=1,
            untold=int(usage.input_unknown or not (buckets or usage.total_tokens)),
            input=usage.input,
            cache_read=usage.cache_read,
            cache_write=usage.cache_write,
            output=usage.output,
            total=usage.total_tokens or buckets,
        )


NOTHING: Final = Tokens()
"""No response, and so no tokens."""


def _buckets(usage: RecordedUsage) -> int:
    return usage.input + usage.cache_read + usage.cache_write + usage.output


@dataclass(frozen=True, slots=True, kw_only=True)
class Spent:
    """One response, and what it took.

    Attributes:
        entry: The id of the entry that it stands on, the first one.
        session: The session, as the caller named it.
        time: When that entry was made; UTC; None if unknown.
        response: The provider's id of the response; None where nobody told.
        provider: Who answered, where that is known.
        model: The model, as the log names it; None where it does not.
        run: The run of the agent that it belongs to, by the id of its entry; None outside of any.
        compaction: Whether its answer is the summary of a compaction.
        usage: Its tokens; None where nobody told.
    """

    entry: str
    session: str
    time: datetime | None
    response: str | None = None
    provider: str | None = None
    model: str | None = None
    run: str | None = None
    compaction: bool = False
    usage: RecordedUsage | None = None

    @property
    def tokens(self) -> Tokens:
        """The same as a sum of one."""
        return Tokens.of(self.usage)


def find_spent(sessions: Iterable[tuple[str, Iterable[Entry]]]) -> list[Spent]:
    """The responses of some sessions in order, each of them once.

    A response that stands more than once, in one session or in several, counts where it
    stands first, and of usages that differ the one with the largest output: earlier ones were
    told while it still streamed. One that has no id counts for itself. An entry that a fork
    copied counts in the session that was given first.

    Args:
        sessions: Each with the name that ``Spent.session`` is to give, and its entries in the
            order of the log.
    """
    ledger = Ledger()
    for name, entries in sessions:
        ledger.begin(name)
        for entry in entries:
            ledger.add(entry)
    return ledger.spent


class Ledger:
    """Finds the responses of sessions while their entries come; see :func:`find_spent`.

    Attributes:
        spent: Those that were found so far, in order. What is learned of one later stands in
            the place of what was known of it.
    """

    def __init__(self) -> None:
        self.spent: Final[list[Spent]] = []
        self._places: dict[str, int] = {}  # by response id
        self._first: dict[str, int] = {}  # by the entry
        self._seen: set[str] = set()  # entry ids
        self.begin("")

    def begin(self, session: str) -> None:
        """What is added from here on is of this session."""
        self._session = session
        self._number = 0
        self._loose: list[tuple[int, int]] = []  # in no run so far: entry number and place
        self._starts: dict[str, int] = {}

    def add(self, entry: Entry) -> bool:
        """Take in the next entry. Says whether a response stands on it that was not met before."""
        number = self._number
        self._number += 1
        self._starts.setdefault(entry.id, number)
        if isinstance(entry, RunEntry):
            start = self._starts.get(entry.run.first_entry_id or "", number)
            # Runs that end earlier are further in, and have taken theirs already.
            while self._loose and self._loose[-1][0] >= start:
                _, place = self._loose.pop()
                self.spent[place] = replace(self.spent[place], run=entry.id)
        if entry.id in self._seen:
            return False
        self._seen.add(entry.id)
        spent = _spent(entry, self._session)
        if spent is None:
            return False
        place = len(self.spent)
        if spent.response is not None:
            known = self._places.setdefault(spent.response, place)
            if known != place:
                self.spent[known] = _merged(self.spent[known], spent)
                return False
        self._first[entry.id] = place
        self._loose.append((number, place))
        self.spent.append(spent)
        return True

    def at(self, entry_id: str) -> Spent | None:
        """The response that stands on an entry first; None if none does."""
        place = self._first.get(entry_id)
        return None if place is None else self.spent[place]

    def by_run(self) -> dict[str, Tokens]:
        """What each run took that had a response, by the id of its entry."""
        sums: dict[str, Tokens] = {}
        for spent in self.spent:
            if spent.run is not None:
                sums[spent.run] = sums.get(spent.run, NOTHING) + spent.tokens
        return sums


def _spent(entry: Entry, session: str) -> Spent | None:
    """The response that an entry tells of, if it does."""
    match entry:
        case MessageEntry(response=response) if response is not None:
            return Spent(
                entry=entry.id,
                session=session,
                time=entry.timestamp,
                response=response.id or None,
                provider=response.provider,
                model=response.model,
                usage=response.usage,
            )
        case CompactionEntry(compaction=compaction):
            told = Tokens.of(compaction.usage).total > 0
            if not told and compaction.response_id is None:
                return None  # no request is known to have made it
            return Spent(
                entry=entry.id,
                session=session,
                time=entry.timestamp,
                response=compaction.response_id or None,
                provider=compaction.provider,
                model=compaction.response_model or compaction.model,
                compaction=True,
                usage=compaction.usage if told else None,
            )
    return None


def _merged(first: Spent, again: Spent) -> Spent:
    """A response that was met again, with the best of what was told of it."""
    return replace(
        first,
        provider=first.provider or again.provider,
        model=first.model or again.model,
        compaction=first.compaction or again.compaction,
        usage=_larger(first.usage, again.usage),
    )


def _larger(first: RecordedUsage | None, again: RecordedUsage | None) -> RecordedUsage | None:
    """The usage that was told last of two for one response: the one with more output."""
    if first is None or again is None:
        return first or again
    return max(first, again, key=lambda usage: (usage.output, Tokens.of(usage).total))


# ------------------------------------------------------------------------------- groups

Grouping = Literal["model", "run", "day", "session"]
"""By what responses are put together; days are days in UTC."""

GROUPINGS: Final[tuple[Grouping, ...]] = get_args(Grouping)
"""All of them."""

Price: TypeAlias = Callable[[Spent], Decimal | None]
"""What a response cost, in US dollars; None where that is not known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """The sum over the responses that belong together.

    Attributes:
        key: The model, the id of the run's entry, the day as in ``2026-01-02``, or the session;
            None for those of no known one.
        compaction: Whether these are the requests that made compactions.
        tokens: Their tokens.
        cost: What those of a known price cost, in US dollars; None if there is none.
        unpriced: How many have no known price, if prices were asked for.
    """

    key: str | None
    compaction: bool = False
    tokens: Tokens = NOTHING
    cost: Decimal | None = None
    unpriced: int = 0

    def __add__(self, other: Group) -> Group:
        costs = [cost for cost in (self.cost, other.cost) if cost is not None]
        return replace(
            self,
            tokens=self.tokens + other.tokens,
            cost=sum(costs, Decimal(0)) if costs else None,
            unpriced=self.unpriced + other.unpriced,
        )


def group_spent(
    spent: Iterable[Spent], by: Grouping | None = None, *, price: Price | None = None
) -> list[Group]:
    """Sums over responses, in the order in which each group is met first.

    Compactions have a group of their own beside each. Without ``by`` there is exactly one
    group, with everything in it.

    Args:
        price: Tells what a response cost; without it no cost is given.
    """
    if by is None:
        total = Group(key=None)
        for one in spent:
            total += _priced(one, Group(key=None), price)
        return [total]
    groups: dict[tuple[str | None, bool], Group] = {}
    for one in spent:
        key = (_key(one, by), one.compaction)
        empty = Group(key=key[0], compaction=key[1])
        groups[key] = groups.get(key, empty) + _priced(one, empty, price)
    return list(groups.values())


def _priced(spent: Spent, empty: Group, price: Price | None) -> Group:
    cost = None if price is None else price(spent)
    return replace(empty, tokens=spent.tokens, cost=cost, unpriced=int(price is not None and cost is None))


def _key(spent: Spent, by: Grouping) -> str | None:
    match by:
        case "model":
            return spent.model
        case "run":
            return spent.run
        case "session":
            return spent.session
        case "day":
            return None if spent.time is None else spent.time.astimezone(UTC).date().isoformat()


# ------------------------------------------------------------------------------ context


def context_size(entries: Sequence[Entry]) -> int | None:
    """How large the context is now, in tokens, as far as a model told; never a sum.

    That is the input side of the last response, cached or not: what its model was sent. What was
    said since, the response itself included, is not counted; ``Context.size`` weighs that too.
    After a compaction, and until a model answers, it is what the compaction says. None where
    nobody told.
    """
    last: str | None = None
    usage: RecordedUsage | None = None
    for entry in reversed(entries):
        if isinstance(entry, CompactionEntry):
            return _size(usage) if usage is not None else entry.compaction.tokens_after or None
        if not isinstance(entry, MessageEntry) or entry.response is None:
            continue
        if usage is None:
            if _size(entry.response.usage) is None:
                continue
            last, usage = entry.response.id, entry.response.usage
        elif last is not None and entry.response.id == last:
            usage = _larger(entry.response.usage, usage)
        else:
            break
    return _size(usage)


def _size(usage: RecordedUsage | None) -> int | None:
    if usage is None or usage.input_unknown:
        return None
    return usage.input + usage.cache_read + usage.cache_write or None
