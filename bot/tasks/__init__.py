"""Durable background work: a task is a row, queued in the transaction that made it necessary.

`tables` and `store` hold the rows and their legal moves, `worker` runs them through handlers that `bot.app` registers
by kind. A task ends as `done`, `done_empty` (there was nothing to do), or `dead` after too many failures; those three
and "still queued" are four different facts. The outcome of a task is written in the transaction that ends it. A task
that cannot be done yet (`Later`) goes back to its place in its lane, and no attempt is counted. At a stop the worker is
drained: nothing more is claimed, what runs may end.
"""
