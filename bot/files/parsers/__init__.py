"""Parsers of one kind of file each, named by the tables of `extract` and `images`, run in the child process only.

Each offers a function `(data, arguments) -> wire.Output`, where `data` is the bytes or, for a job that streams, an open
binary file; it raises `wire.Refused` for what it can name. Anything else that it raises ends as "crashed". A module
here imports only what its own kind needs: the start of the child pays for every import. Nothing in the daemon imports
this package, except tests. `text`, `grid`, `cells`, `ooxml` and `wordstyle` hold what several of them share.
"""
