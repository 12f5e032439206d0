"""A spec to start from: `spinewise new`.

| module | what it does |
|---|---|
| `wishes` | what a fabric and its traffic are to be: the options of `new`, with their defaults |
| `asking` | the same, asked in a terminal |
| `amounts` | how long flows arrive, and how large messages are |
| `lines` | TOML with a comment above each key, from the engine's registry |
| `compose` | the spec of these wishes, as text |
| `place` | written beside its schema, whole or not at all |
"""
