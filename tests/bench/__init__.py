"""The benchmark: the daemon against a plain bot on the same libraries, in one run on one machine.

`python -m tests.bench` starts both against the same stand-ins for a platform and the model (processes of their own, the
far end keeps the time), lets them work in turn so that noise hits both, and prints what each took, the ratio, the aim
and whether it was met; on Telegram unless `--channels` or `--all` say otherwise. `far_end` is the servers and the load,
`crowds` how people write on each platform, `subjects` what is measured, `measure` the order of the rounds, `report` the
aims and the table (pure); `plain_bot`, `plain_discord` and `plain_slack` are the yardsticks.

Not here: tests of behaviour. Figures of a busy machine are good for ratios only.
"""
