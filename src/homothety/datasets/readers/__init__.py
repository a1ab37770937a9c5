"""Covariance matrices and recordings of measurements in files of many kinds, each read by a library only it needs."""
