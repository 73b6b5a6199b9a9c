"""Zero false rejections, and no false promises: random small worlds whose truth is known, and an exhaustive search.

``truth`` is what a world really is, ``draw`` makes one of a seed, ``submit`` and ``told`` make Kubernetes objects of
the gang and of what administrators say of the world, ``search`` tries everything out, ``laws`` compares. The search is
written from the definitions in reference/kueue.md §6 and reference/capacity.md §3, and shares no code with what it
judges.
"""
