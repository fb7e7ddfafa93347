"""The whole daemon in bad weather: `python -m tests.soak --minutes 5 --messages 10000`.

The daemon is a process of its own; the far ends of all channels and the model's server live in this one, so that they
outlive it and can be made to misbehave in every way they know. People write numbered messages, `sides` says how on each
platform and what goes wrong there; `run` keeps people writing while it does; `verdict` counts, by the numbers in what
people see in the end, that every accepted message has exactly one answer or one visible parked row. `launcher` and
`watch` measure, inside the daemon, how long its event loop was ever held up. `report` prints, and fills the generated
parts of docs/reliability.md.
"""
