"""One turn after the other: the lanes of the sessions, the prompt, the model, and the transaction that ends a turn.

`lanes` runs at most one turn per session and many sessions side by side; a turn is five named steps: recall, prompt,
complete and decide (`steps`), commit (`ends`, with every other way in which a turn may end). `prompt`, `decide` and
`gate` are pure; `commands` are turns without a model; `placeholder` and `drafts` show an answer while it is written;
`immediate` answers what must not wait for a lane. No channel's form and no SQL of other rooms stand here.
"""
