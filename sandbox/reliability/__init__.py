"""`make bench-reliability`: what becomes of the floor when runs are killed, doubled, misled or cut off.

On a real API server, and every fault comes from outside of the program: a proxy before the API server (`gate`),
calendars that a seed wrote (`course`, `mutation`), programs of the control plane that are stopped, Pulumi's engine
(`matrix`). What is right says an oracle that shares no code with what it judges. Two parts stand KEDA's cron trigger
beside a floor (`tolerance`, `cron`).
"""
