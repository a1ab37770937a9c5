"""The paper's tables and figures, computed again and set beside what was printed: ``python -m paper``.

One module per table or figure, each with the same names: `TITLE`, the `SETS` it is about and `LOAD` to load them, the
`FULL` and `QUICK` effort, `tasks`, which returns what is to be computed, and `report`, which turns the results into
Markdown and figures. `paper.authors` makes the data sets from the authors' repositories.
"""
