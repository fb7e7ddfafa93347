"""The core of OpenExecutive: everything between a channel's event and a channel's send.

Rooms stand on floors and import downward only (see `docs/architecture.md`; the build checks it). A room keeps
the same few files: `model` (frozen values), `tables` (its SQL tables), `store` (its SQL), `service` (use cases),
`worker` (a loop). Nothing in here names a channel: channels are loaded by name and seen through `bot.gateway`.
"""
