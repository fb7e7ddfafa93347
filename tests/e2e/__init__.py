"""The real daemon as a process of its own, and the world around it.

Here belongs what can only be seen from outside: journeys over the wire, kills at every step, load, exit codes. The far
ends are the stand-ins of `tests.fakes`, which run in the test's own loop and so outlive every daemon. `daemon` starts,
stops and kills; `launcher` (test-only) runs the same program with named points at which it can be made to die;
`farends` sends and counts by content; `kills` is the series and its table. Nothing here reaches into a running daemon.
"""
