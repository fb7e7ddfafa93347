"""One turn after the other: the lanes of the sessions, the prompt, the model, and the transaction that ends a turn.

`lanes` runs at most one turn per session and many sessions side by side; `turn` is one turn as five named steps
(recall, prompt, complete, decide, commit); `prompt` and `decide` are pure; `commands` are turns without a model;
`immediate` answers what must not wait for a lane. No channel's form and no SQL of other rooms stand here.
"""
