"""One folder per model; each holds its data, its chain state, its prior, its moves and its compiled loops."""
