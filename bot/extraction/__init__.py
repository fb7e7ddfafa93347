"""From what was said to what is remembered: a durable task for each turn.

A model (or, offline, rules) proposes candidates with verbatim quotes. `admission` (pure) decides what becomes of each:
it is written, held for a person, confirms what stands, supersedes or disputes it, or is refused. The outcome is stored
in the transaction that ends the task, so that every turn has one result: failed, empty and still queued are three
facts.

What a claim is belongs to `bot.memory`; this room only brings new ones. Nothing that a message or a model says can
raise the trust of a claim.
"""
