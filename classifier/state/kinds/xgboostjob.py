"""``XGBoostJob`` of ``kubeflow.org``: a kind of the training operator."""

from classifier import api
from classifier.objects import XGBoostJob
from classifier.state.kinds.kubeflow import view

VIEW = view(api.XGBOOST_JOBS, XGBoostJob, step="xgboost")
