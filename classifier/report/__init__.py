"""What a job is doing, since when, until when, and what next: phases for people, JSON for programs (design §6)."""

from classifier.report.audit import Finding, Problem, audit_foreign, audit_job, audit_unseen, pending
from classifier.report.compose import ProfileState, Report, Result, report
from classifier.report.deadline import Deadline, deadline_of
from classifier.report.fence import FENCE_NAME, Fence, FenceState, fence_of
from classifier.report.message import reactivate_command, timed_out_message
from classifier.report.owner import Finish, Owner, owner_of, waiting_owner
from classifier.report.phase import Phase, State
from classifier.report.picture import Picture, pods_of, requests_of, workload_of
from classifier.report.profiles import ProvisioningReady, provisioning_ready

__all__ = [
    "FENCE_NAME",
    "Deadline",
    "Fence",
    "FenceState",
    "Finding",
    "Finish",
    "Owner",
    "Phase",
    "Picture",
    "Problem",
    "ProfileState",
    "ProvisioningReady",
    "Report",
    "Result",
    "State",
    "audit_foreign",
    "audit_job",
    "audit_unseen",
    "deadline_of",
    "fence_of",
    "owner_of",
    "pending",
    "pods_of",
    "provisioning_ready",
    "reactivate_command",
    "report",
    "requests_of",
    "timed_out_message",
    "waiting_owner",
    "workload_of",
]
