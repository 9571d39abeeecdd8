"""A conversation outgrows its window: a model sums up what is old, and the log keeps all of it."""

from transcript_log import Session, Target, testing
from transcript_log.response import parse_response

TARGET = Target("anthropic-messages", "claude-opus-4-8")
LIMIT, KEEP = 1_000, 300  # tokens: when to compact, and how much then stays word for word
SUM_UP = {
    "role": "user",
    "content": "Sum up what was asked, decided and done, for whoever goes on from here.",
}
QUESTIONS = [f"Question {number}: {'why? ' * 80}" for number in range(12)]
model = testing.ScriptedModel(TARGET, [f"For reason {number}." for number in range(12)])
summarizer = testing.ScriptedModel(TARGET, ["They asked why, and there were reasons."] * 12)


def compact(session: Session) -> None:
    """Put a summary in the place of what is old, if anything can be cut off."""
    plan = session.plan_compaction(TARGET, keep_tokens=KEEP)
    if plan is None:
        return
    # The real client: Anthropic().messages.create(model=TARGET.model, messages=[…], max_tokens=4000)
    response = parse_response(summarizer([*plan.summarize.items, SUM_UP]))
    if not response.stopped_normally:
        return  # half a summary is worse than none: all stays as it is, until the next time
    made = session.compact(plan, response=response).compaction
    print(f"compacted {made.tokens_before} tokens to {made.tokens_after}")


with Session.create("session.jsonl") as session:
    for question in QUESTIONS:
        session.add({"role": "user", "content": question})
        if session.context(TARGET).size > LIMIT:
            compact(session)
        context = session.context(TARGET)
        # And here: Anthropic().messages.create(model=TARGET.model, messages=context.items, max_tokens=4000)
        session.add_response(model(context.items), to=context)
    print(f"the model is sent {len(context.items)} items, the log holds {len(session.entries())} entries")
    print("the first is:", context.items[0]["content"].partition("\n")[0])
