"""Files that people send: kept once by content, told apart by their bytes, read in a child process.

Here belong the blob folder (`blobs`), the type by first bytes (`sniff`), the cleaning of shown names (`names`), and the
child process that reads what strangers sent: `sandbox` starts it, `child` and `lockdown` run in it, `parsers` do the
work in it, `wire` is what both sides agree on. `extract` (text) and `images` (pictures for the model) are its users.

Not here: fetching a file from a platform (the channels), what a file means for a turn (the orchestrator). The daemon
itself never hands a stranger's bytes to a parser library. Every room above may depend on this one.
"""
