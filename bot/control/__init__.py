"""The daemon's own socket: `<data_dir>/control.sock`, for commands of this machine's operator and for terminals.

`wire` holds the form (one JSON object per line), `address` the path, `peer` and `server` the daemon's side, `client`
the blocking side of the command line. `ops` and its parts are the operations that the daemon itself offers; channels
add their own handlers by name. Whoever reaches the socket is the daemon's user or root, by the kernel's word; no other
proof is asked. Importing this package or its `client` loads nothing heavy: `openexecutive --help` depends on it. Only
`bot.app` and `bot.cli` may depend on this room.
"""
