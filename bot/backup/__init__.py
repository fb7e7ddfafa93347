"""Backups: one file that holds all that cannot be made anew, and putting one back.

`sealed` is the outer form of a file (encrypted or not, in either case whole or recognisably not), `archive` what stands
in it and how it is checked, `folder` which backups there are and which go, `making` the work of one, `nightly` the task
that makes one every night, `restoring` the way back into an empty folder. A backup is written under another name and
put in place when it is whole and on the disk; a process that dies leaves something that is swept, never half a backup.

In it: the database (a consistent copy, made while the daemon works), the files that people sent, the Maildir, and the
keys. Not in it: vectors, which are derived, and the settings. What was erased since a backup was made is erased again
when it is put back: `bot.erasure` writes a journal beside the backups.

`bot.app` and rooms above may depend on it.
"""
