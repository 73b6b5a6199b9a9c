"""``PaddleJob`` of ``kubeflow.org``: a kind of the training operator."""

from classifier import api
from classifier.objects import PaddleJob
from classifier.state.kinds.kubeflow import view

VIEW = view(api.PADDLE_JOBS, PaddleJob, step="paddle")
