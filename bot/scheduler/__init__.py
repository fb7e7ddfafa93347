"""What is due: jobs, their occurrences, and the gate that lets one process fire them.

Our tables are the truth; APScheduler is only the clock that wakes `worker` at the next due instant. `triggers` (pure)
says when a job is due in its zone, `catching_up` (pure) what becomes of instants that were missed; `gate` is a lease
with a fencing token that every outcome checks. An occurrence is (job, instant), unique, and claimed once.

What a job does belongs to the rooms that register a handler for its kind. Rooms above may depend on this one.
"""
