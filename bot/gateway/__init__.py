"""The contract with channels: what comes in, what goes out, and the two ports between a channel and the core.

`events` is the closed union of everything that a platform can tell us, `operations` the closed union of everything
that can be asked of one; `channel` holds the ports (`Channel`, `Inbox`, `FileStore`) and what is handed to a channel
when it is built; `text` is the one Markdown parse and splitter; `commands` the words that are commands everywhere.
No SQL, no settings, no platform. Channels may import this room, the kernel and nothing else of ours.
"""
