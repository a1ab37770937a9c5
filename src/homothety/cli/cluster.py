"""`homothety cluster`: cluster covariance matrices from a file."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from homothety.cli.options import (
    add_cluster_option,
    add_command,
    add_shared_options,
    at_least,
    check_figures,
    check_folder,
    number_or_name,
    sweeps,
)
from homothety.errors import InputError, NotSPDError
from homothety.files import printable
from homothety.phrases import AXES, cluster_number, enumerated, voxel_in_words

if TYPE_CHECKING:
    import argparse

    from homothety.arrays import IntArray
    from homothety.cli.console import Console
    from homothety.datasets import MatrixSet

_HELP = "cluster the covariance matrices in a file"
_DESCRIPTION = """\
Cluster the covariance matrices in a file by shape, whatever their rotation and scale. The number of clusters is
inferred. Reads .npy, .npz, .mat, .csv and NIfTI tensor images; writes labels, a summary, an
interactive report and the fitted model; figures with --figures.
"""
_EPILOG = """\
examples:
  homothety cluster matrices.npy                       an array of shape (n_matrices, n_dims, n_dims)
  homothety cluster tensors.nii.gz --order fsl --mask brain.nii.gz --only-spd
  homothety cluster tensors.nii.gz --order fsl --points shape --spatial      neighbours tend to be in one cluster
  homothety cluster tasks.mat --variable sigmas -o tasks
  homothety cluster matrices.csv --size use            shape and size
  homothety cluster matrices.csv --variant published   the SPCM-CRP mixture of the paper
  homothety cluster matrices.npz --json | jq .clusters

Exit status: 0; 2 for input that cannot be used; 130 after Ctrl-C. What was sampled until then is written, except in the
first half of the sweeps, of which nothing is kept; homothety resume goes on from there, also after a kill.
"""

_OUTPUT = "homothety-output"

# Options of the model: the argument, the parameter of SPCMMixture it sets, its type, its default and what it means.
# Defaults are repeated here because loading the estimator to read them would make --help slow; a test compares them.
MODEL_OPTIONS: tuple[tuple[str, str, Any, Any, str], ...] = (
    ("--model", "model", str, "auto", "shapes, or links: the SPCM-CRP mixture, used if one of its options is given"),
    ("--size", "size", str, "ignore", "whether matrices of other size are alike: ignore or use"),
    ("--n-samples", "n_samples", at_least(1), None, "samples each matrix was estimated from, if known"),
    ("--resolution", "resolution", float, 0.01, "differences of log axis lengths far below this are ignored"),
    (
        "--min-eigenvalue",
        "min_eigenvalue",
        float,
        1e-12,
        "share of the largest to which smaller eigenvalues are raised; with --only-spd such matrices are left out",
    ),
    ("--measure", "measure", str, "bspcm", "similarity of two matrices: bspcm, airm, lerm, kldm or jbld"),
    (
        "--variant",
        "variant",
        str,
        None,
        "SPCM-CRP mixture, by a reading of SPCM: published, paper, scale-free, log, ...",
    ),
    ("--tolerance", "tolerance", float, 1.0, "the paper's tau: larger values lower similarities"),
    ("--points", "points", str, None, "SPCM-CRP mixture on these coordinates: spectral, shape or log-euclidean"),
    ("--n-components", "n_components", number_or_name, "damped", "columns of the spectral embedding, or the rule"),
    ("--solver", "solver", str, "auto", "exact, sample (very many matrices), or ordered (SPCM-CRP mixture)"),
    ("--neighbor-share", "neighbor_share", float, 10.0, "how much neighbours count with --spatial"),
    ("--concentration", "concentration", float, 1.0, "the paper's alpha: larger values favour more clusters"),
    ("--chains", "n_chains", at_least(1), 4, "independent chains"),
    ("--sweeps", "n_sweeps", sweeps, "auto", "sweeps per chain; auto doubles 200, up to 800, until chains agree"),
    ("--jobs", "n_jobs", int, None, "chains run side by side"),
)


def add_parser(commands: Any) -> None:
    """Add this command to the parser of all commands."""
    parser = add_command(commands, "cluster", run, help=_HELP, description=_DESCRIPTION, epilog=_EPILOG)
    parser.set_defaults(resumed=None)
    parser.add_argument("file", metavar="FILE", type=Path, help=".npy, .npz, .h5, .mat, .csv, .nii, .nii.gz or .fif")
    add_shared_options(parser, output=_OUTPUT)
    add_cluster_option(parser)
    reading = parser.add_argument_group("reading")
    reading.add_argument("--variable", metavar="NAME", help="array in a .npz or .mat file that holds the matrices")
    reading.add_argument("--order", help="order of distinct entries: upper, lower, diagonal, fsl, nifti, dipy, mrtrix")
    reading.add_argument("--mask", metavar="FILE", type=Path, help="NIfTI image of the voxels to read")
    reading.add_argument(
        "--only-spd", action="store_true", help="leave out what is not positive definite, see --min-eigenvalue"
    )
    model = parser.add_argument_group("model")
    for flag, parameter, kind, default, meaning in MODEL_OPTIONS:
        described = meaning if default is None else f"{meaning} (default: {default})"
        metavar = flag.rsplit("-", 1)[1].upper()
        model.add_argument(flag, dest=parameter, metavar=metavar, type=kind, default=default, help=described)
    model.add_argument(
        "--spatial",
        action="store_true",
        help="let voxels of an image link to those beside them, but not along axes whose voxels are more than twice as "
        "far apart in mm as along the nearest axis; best with --points shape",
    )


def run(args: argparse.Namespace, console: Console) -> bool:
    """Cluster a file; return whether it came to its end."""
    from homothety.cli import results, runs
    from homothety.cli.runs import fit
    from homothety.estimators.spcm import SPCMMixture
    from homothety.sampling.checkpoint import fingerprint

    check_figures(args)
    folder = check_folder(args.output)
    items, index = read(args, console)
    positions = _check_image(items, args.file, console) if args.spatial else None
    parameters = {parameter: getattr(args, parameter) for _, parameter, *_ in MODEL_OPTIONS}
    if args.only_spd:
        del parameters["min_eigenvalue"]  # said which matrices to leave out; no eigenvalue is left to be raised
    model = SPCMMixture(random_state=args.seed, **parameters)
    data = {"matrices": items.matrices} | ({"positions": positions} if args.spatial else {})
    this, source = runs.of(args, folder, fingerprint(**data), console), printable(str(args.file))
    n_dims = items.matrices.shape[1]
    size = f"{len(items)} matrices of {n_dims} x {n_dims}"
    with this.explaining_interrupts():
        try:
            with this.sampling(model):
                fit(model, items.matrices, console, size=size, source=source, positions=positions)
        except NotSPDError as error:
            where = _where_is(error, items)
            text = f"{args.file}: {error}{where} Or leave all such matrices out with --only-spd."
            raise InputError(text, item=error.item) from error
        model.result_ = replace(model.result_, numbers=index)
        written = results.write(model, items, folder, with_figures=args.figures)
    this.end(interrupted=model.result_.interrupted)
    labels = cluster_number(model.result_.labels).tolist()
    results.show(console, written, folder, {"labels": labels})
    return not model.result_.interrupted


def _where_is(error: NotSPDError, items: MatrixSet) -> str:
    """Return the voxel of the matrix that an error names, as a sentence; nothing if there is none."""
    if error.item is None or items.positions is None:
        return ""
    return f" Matrix {error.item} is {voxel_in_words(items.positions[error.item])}."


def _check_image(items: MatrixSet, file: Path, console: Console) -> IntArray:
    """Return the voxel of every matrix, thick slices set apart, or raise if they are not those of an image."""
    if items.link_positions is None:
        raise InputError(
            f"{file} does not say where its matrices are, which --spatial needs: a NIfTI image does, or an .npz or .h5 "
            "file with the arrays grid and positions. Leave --spatial out, or add them."
        )
    if items.far_axes:
        axes = enumerated([AXES[axis] for axis in items.far_axes])
        console.say(f"Along {axes}, voxels are too far apart to count as neighbours")
    return items.link_positions


def read(args: argparse.Namespace, console: Console) -> tuple[MatrixSet, IntArray]:
    """Return the matrices to cluster, and the number of each in the file."""
    import numpy as np

    from homothety.datasets import read_matrices
    from homothety.datasets.readers.dispatch import keep_spd

    console.say(f"Reading {args.file}")
    items = read_matrices(args.file, variable=args.variable, order=args.order, mask=args.mask)
    if not args.only_spd:
        return items, np.arange(len(items))
    kept, index = keep_spd(items, args.file, args.min_eigenvalue)
    console.say(
        f"Left out {len(items) - len(kept)} of {len(items)} matrices that are not positive definite, or have an "
        f"eigenvalue below {args.min_eigenvalue:g} of their largest"
    )
    return kept, index
