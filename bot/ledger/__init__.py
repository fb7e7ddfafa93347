"""What the executive wants to do outwardly or irreversibly: proposals, who may say yes, and what became of it.

`model` is the one transition table, `tables` holds it in the database (no move without its event, none that the table
does not know), `store` is the SQL: every move is a compare-and-set. `deciding` (pure) says what a vote, an edit, a
timer or a failure leads to; `service` the use cases; `actions` the small interface behind which each kind of action
stands; `worker` executes what was approved, keyed, so that a crash neither loses nor doubles the effect.

Approving binds to the hash of what was shown. Silence is an outcome of its own. Rooms above may depend on this one.
"""
