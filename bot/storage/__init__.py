"""The store: one SQLite file, one writer, a few readers, and the migrations that shape it.

`database` opens the file and runs units of work; `metadata` holds the registry that each room's `tables` module adds
to, and the column types; `migrations` bring an older file up to date; `lock` keeps one daemon to a data folder;
`dialect` is the one place for SQL that differs between engines. No room's own SQL stands here. SQL is the truth:
whatever else is kept (files, indexes) is named by it or can be rebuilt from it.
"""
