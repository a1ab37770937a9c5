"""Slow, obvious twins of emissions: every formula from scipy's distributions, one step or one matrix at a time."""

from __future__ import annotations

import numpy as np
from scipy import integrate, stats

# A step is z = (regressors, observation). A prior is an `Emission`, of which only the numbers are read.


def parts(z, emission):
    """Regressors and observations of steps, one per column."""
    return z[:, : emission.n_regressors].T, z[:, emission.n_regressors :].T


def posterior(z, emission):
    """Return M_n, K_n, S_n, nu_n of section 9; with independent dimensions only the diagonal of S_n counts."""
    regressors, values = parts(z, emission)
    mean, precision = emission.coefficients, emission.precision
    precision_n = precision + regressors @ regressors.T
    mean_n = (values @ regressors.T + mean @ precision) @ np.linalg.inv(precision_n)
    scale_n = emission.scale + values @ values.T + mean @ precision @ mean.T - mean_n @ precision_n @ mean_n.T
    return mean_n, precision_n, scale_n, emission.dof + len(z)


def log_marginal(z, emission):
    """Log marginal likelihood as a product of Student predictives, one step after the other."""
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
    if emission.diagonal:
        return mean, np.diag(np.diagonal(scale)) / (dof - 2)
    return mean, scale / (dof - emission.n_dims - 1)


def log_evidence(z, coefficients, covariance):
    """Log density of every step given parameters."""
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
