"""What schedules do when they fire, a handler a kind: reminders, questions to the executive, briefs and reviews,
check-ins of a department, follow-ups and nudges.

A handler works outside any transaction and returns what is written in the one that ends its occurrence. What nobody
asked for in so many words goes to its owner alone, twice a day at most, and says how it is switched off.
"""
