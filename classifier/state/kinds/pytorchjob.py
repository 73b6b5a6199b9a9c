"""``PyTorchJob`` of ``kubeflow.org``: a kind of the training operator."""

from classifier import api
from classifier.objects import PyTorchJob
from classifier.state.kinds.kubeflow import view

VIEW = view(api.PYTORCH_JOBS, PyTorchJob, step="pytorch")
