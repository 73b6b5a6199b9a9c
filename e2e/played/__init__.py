"""What the operators of the other kinds would do, done by hand through the API: children, pods, status.

Only what Kueue and a reader see of it: names, labels, owners and status as the operators' own sources have them, which
each module cites. Pods are real, run by the scheduler and KWOK; batch Jobs among the children are run by the Job
controller.
"""
