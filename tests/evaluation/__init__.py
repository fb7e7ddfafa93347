"""The labelled question set over the built-in corpus, and what holds of notes and questions.

Belongs here: `corpus_questions.jsonl` (one question a line, with the notes that answer it, best first) and the
checks that keep notes and questions fit to be measured: form, sums that add up, no repeated sentences, no question
that quotes its own note. Not here: the search itself and its figures. Only tests and the evaluation command read
this package; it is not shipped.
"""
