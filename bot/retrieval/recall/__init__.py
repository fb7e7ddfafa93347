"""Search of what was said and of what is remembered: turns and claims, each within what its reader may see.

`model` has the values; `question` and `times` read a question (words, named speakers, a time that it means), `keys`
says what is embedded, `ranking` puts rows in order: all pure. `store` is the SQL of rows, full text and vectors,
`quantised` the vectors in one byte a number, `views` a space's rows in memory, `answer` what of them answers; `index`
joins them. Rows are derived from the rooms that own the words and can be made anew from them. A space (a session, the
company) is part of every query of both arms; there is no search without one. Which spaces and rows a reader may see,
the rooms above say.

How rows are ranked was measured on public conversations, see docs/evaluation.md. Chroma has no part here (ADR 24).
"""
