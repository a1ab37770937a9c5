"""The paper's tables and figures, computed again and set beside what was printed.

One module per table or figure, each with the same five names: `SETS` it is about, `LOAD` to load them, the `FULL` and
`QUICK` effort, and `plan`, which returns what is to be computed and how it is to be reported. Nothing here writes files
or prints.
"""
