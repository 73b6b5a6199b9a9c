"""``TFJob`` of ``kubeflow.org``: a kind of the training operator."""

from classifier import api
from classifier.objects import TFJob
from classifier.state.kinds.kubeflow import view

VIEW = view(api.TF_JOBS, TFJob, step="tensorflow")
