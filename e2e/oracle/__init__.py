"""The real Kueue and the real kube-scheduler as judges of our judgement.

``generate`` draws jobs of every kind, each with a ClusterQueue and pools of its own; ``stage`` lets all of them loose
at once and waits until nothing moves; ``rules`` compares, rule by rule, what Muster computes with what happened.
"""
