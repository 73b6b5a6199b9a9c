"""The judgement of one gang, a step a module, in this order: ``assign`` asks them, ``hearing`` holds what is left to
spend and what was worked out before, ``reading`` and ``seat`` take one podset, ``short`` its quota, ``choice`` its
flavors, ``weigh`` its nodes (``room``: how many pods they take), ``joint`` all podsets at once, ``domain`` topology."""
