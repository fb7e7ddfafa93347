"""Forgetting across rooms: which room deletes what, in which order, and the receipt.

`service` erases a session (or what of it is older than an instant) in one transaction: every room that holds something
of it offers an eraser, which `bot.app` hands in. `work` is the durable rest, which SQL does not do: the files, and the
bytes that deleted rows leave behind in the database. Only when those are gone is the erasure called done. Identities of
accepted events stay, as empty shells: what was erased must not come in again.

What a room's rows mean is that room's business; nothing is deleted here by knowing another room's tables. `bot.app`,
`bot.control` and rooms above may depend on it.
"""
