"""Conversations: which session a thread belongs to, what room it stands in, who reads there, what was said.

`audience` judges rooms (pure), `places` keeps what is known of them, `threads` maps thread keys to sessions and holds
the epochs, `turns` is the lane of each session (one running turn at most, by a unique index), `transcript` what was
said. This room alone turns a `Scope` into what may be read.
"""
