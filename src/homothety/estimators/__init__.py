"""Estimators with scikit-learn's conventions, thin over the functions of the other folders."""
