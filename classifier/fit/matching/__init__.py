"""Whether one pod may stand on one kind of node: by labels and taints (``match``), as Kueue asks of a flavor
(``eligible``), and by all else that a pod may demand of its neighbours (``placement``)."""
