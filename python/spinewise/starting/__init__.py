"""A spec to start from: `spinewise new`.

| module | what it does |
|---|---|
| `wishes` | the properties of a fabric and its traffic: the options of `new`, with their defaults |
| `asking` | the same, asked in a terminal |
| `amounts` | the duration of arrivals, and the size of messages |
| `lines` | TOML with a comment above each key, from the engine's registry |
| `compose` | the spec of these wishes, as text |
| `place` | writes it beside its schema, whole or not at all |
"""
