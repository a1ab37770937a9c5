"""Slow, obvious twins of emissions: every formula from scipy's distributions, one step or one matrix at a time."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy import integrate, stats
from scipy.linalg import block_diag

from homothety.models.emissions import Emission

# A step is z = (regressors, observation). A prior is an `Emission`, of which only the numbers are read.


def parts(z, emission):
    """Regressors and observations of steps, one per column."""
    return z[:, : emission.n_regressors].T, z[:, emission.n_regressors :].T


def each_block(z, emission):
    """Steps and emission of each block alone, with its own weight: what it would be if there were no others."""
    regressors, values = parts(z, emission)
    alone, stop = [], 0
    for b, (size, dof, weight) in enumerate(zip(*emission.blocks, strict=True)):
        own = slice(stop, stop := stop + size)
        prior = (emission.coefficients[own, b], emission.precision[b, b], emission.scale[own, own], dof)
        steps = np.column_stack([regressors[b], values[own].T]) / np.sqrt(weight)
        alone.append((own, steps, replace(Emission.gaussian(*prior), weight=weight)))
    return alone


def posterior(z, emission):
    """Return M_n, K_n, S_n, nu_n of docs/model.md, section 3.2.

    With independent dimensions only the diagonal of S_n counts. With blocks the matrices are those of the blocks put
    together, and there is a nu_n for each dimension.
    """
    if emission.blocks is not None:
        each = [posterior(steps, one) for _, steps, one in each_block(z, emission)]
        mean, precision, scale = (block_diag(*matrices) for matrices in list(zip(*each, strict=True))[:3])
        return mean, precision, scale, np.repeat([dof for *_, dof in each], emission.blocks.sizes)
    regressors, values = parts(z, emission)
    mean, precision, weight = emission.coefficients, emission.precision, emission.weight
    precision_n = precision + weight * regressors @ regressors.T
    mean_n = (weight * values @ regressors.T + mean @ precision) @ np.linalg.inv(precision_n)
    scale_n = emission.scale + weight * values @ values.T + mean @ precision @ mean.T - mean_n @ precision_n @ mean_n.T
    return mean_n, precision_n, scale_n, emission.dof + weight * len(z)


def degrees_of_variances(z, emission):
    """Degrees of freedom of the posterior of every single variance."""
    sizes = np.full(emission.n_dims, 1 if emission.diagonal else emission.n_dims)
    if emission.blocks is not None:
        sizes = np.repeat(emission.blocks.sizes, emission.blocks.sizes)
    return posterior(z, emission)[3] - sizes + 1


def log_marginal(z, emission):
    """Log marginal likelihood as a product of Student predictives, one step after the other.

    Of blocks with weights it is what Bayes' rule leaves at any parameters.
    """
    if emission.blocks is not None:
        at = 0.3 * emission.structure_mask[:, : emission.n_regressors], np.eye(emission.n_dims)
        log_prior, log_posterior = (log_parameter_density(steps, emission, *at) for steps in (z[:0], z))
        return float(log_prior + log_evidence(z, *at, emission).sum() - log_posterior)
    total = 0.0
    for t, step in enumerate(z):
        mean, precision, scale, dof = posterior(z[:t], emission)
        regressors, value = step[: emission.n_regressors], step[emission.n_regressors :]
        widening = 1 + regressors @ np.linalg.inv(precision) @ regressors
        if emission.diagonal:
            spreads = np.sqrt(np.diagonal(scale) * widening / dof)
            total += stats.t.logpdf(value, dof, mean @ regressors, spreads).sum()
        else:
            degrees = dof - emission.n_dims + 1
            shape = scale * widening / degrees
            total += stats.multivariate_t.logpdf(value, mean @ regressors, shape, degrees)
    return float(total)


def log_weighted_marginal(values, weight, emission):
    """Log marginal likelihood of numbers whose Gaussian densities are raised to a power, the variance by quadrature."""
    (prior_mean,), (strength,) = emission.coefficients[0], emission.precision[0]

    def log_density(log_variance):
        variance = np.exp(log_variance)
        n, mean = weight * len(values), np.mean(values)
        # The mean is a Gaussian integral: n observations at the mean of the values, about a Gaussian prior.
        spread = (weight * ((values - mean) ** 2).sum() + n * strength / (n + strength) * (mean - prior_mean) ** 2) / 2
        log_mean = 0.5 * np.log(strength / (n + strength)) - n / 2 * np.log(2 * np.pi * variance) - spread / variance
        prior = stats.invgamma.logpdf(variance, emission.dof / 2, scale=emission.scale[0, 0] / 2)
        return log_mean + prior + log_variance

    return float(np.log(integrate.quad(lambda v: np.exp(log_density(v)), -25, 25, limit=500)[0]))


def log_parameter_density(z, emission, coefficients, covariance):
    """Log density of coefficients and covariance given steps."""
    if emission.blocks is not None:
        return sum(
            log_parameter_density(steps, one, coefficients[own, b, None], covariance[own, own])
            for b, (own, steps, one) in enumerate(each_block(z, emission))
        )
    mean, precision, scale, dof = posterior(z, emission)
    spread = np.linalg.inv(precision)
    if not emission.diagonal:
        log_covariance = stats.invwishart.logpdf(covariance, dof, scale)
        return float(log_covariance + stats.matrix_normal.logpdf(coefficients, mean, covariance, spread))
    total = 0.0
    for d, variance in enumerate(np.diagonal(covariance)):
        total += stats.invgamma.logpdf(variance, dof / 2, scale=scale[d, d] / 2)
        total += stats.multivariate_normal.logpdf(coefficients[d], mean[d], variance * spread)
    return float(total)


def plug_in(z, emission):
    """Posterior means of coefficients and covariance."""
    mean, _, scale, dof = posterior(z, emission)
    if emission.blocks is not None:
        return mean, scale / (dof - np.repeat(emission.blocks.sizes, emission.blocks.sizes) - 1)
    if emission.diagonal:
        return mean, np.diag(np.diagonal(scale)) / (dof - 2)
    return mean, scale / (dof - emission.n_dims - 1)


def log_evidence(z, coefficients, covariance, emission=None):
    """Log density of every step given parameters, blocks of dimensions weighted."""
    if emission is not None and emission.blocks is not None:
        each = [
            one.weight * log_evidence(steps, coefficients[own, b, None], covariance[own, own])
            for b, (own, steps, one) in enumerate(each_block(z, emission))
        ]
        return np.sum(each, axis=0)
    n_regressors = coefficients.shape[1]
    return np.array(
        [
            stats.multivariate_normal.logpdf(step[n_regressors:], coefficients @ step[:n_regressors], covariance)
            for step in z
        ]
    )


def whitener(coefficients, covariance):
    """Parameters as the sampler keeps them: [-W A, W] with W lower triangular and W' W the inverse covariance."""
    root = np.linalg.inv(np.linalg.cholesky(covariance))
    return np.hstack([-root @ coefficients, root])


def scale_matrix(z, emission):
    """The prior and the steps as one matrix of outer products."""
    weighted = emission.coefficients @ emission.precision
    scale = np.diag(np.diagonal(emission.scale)) if emission.diagonal else emission.scale
    prior = np.block([[emission.precision, weighted.T], [weighted, scale + weighted @ emission.coefficients.T]])
    return prior + sum((np.outer(step, step) for step in z), np.zeros_like(prior))
