"""What is to be sent: one row per message of the platform, written in the transaction that decided it.

`tables` and `store` hold the rows and their legal moves, `service` queues replies and answers questions about rows,
`worker` sends them: in order within a thread, threads side by side. Only this room retries a send; what may have
happened and cannot be known is a state of its own. It calls `Channel`s and never names one.
"""
