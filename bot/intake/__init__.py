"""The way in: who may speak, what was seen before, which session it belongs to, one durable row each.

`admit` decides (pure), `tables` and `store` hold the inbox rows and their legal moves, `service` is the `Inbox` that
channels are handed: one transaction (`batch`) for everything a platform delivered together, after which the platform
may be told that we have it. `speech` takes what people say, `happenings` what happens to messages and rooms; `rows`
and `rooms` gather what both write. Every row ends exactly once: answered, silent, stopped, refused or parked.
"""
