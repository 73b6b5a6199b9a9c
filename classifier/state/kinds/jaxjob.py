"""``JAXJob`` of ``kubeflow.org``: a kind of the training operator."""

from classifier import api
from classifier.objects import JAXJob
from classifier.state.kinds.kubeflow import view

VIEW = view(api.JAX_JOBS, JAXJob, step="jax")
