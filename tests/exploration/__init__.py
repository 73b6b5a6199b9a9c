"""Every interleaving of a small world: the real decisions, two controllers, Kueue, people, crashes and lost answers.

``server`` is the API server with the two objects the protocol rests on, ``controllers`` what ``controller.steps`` and
``controller.act`` do around ``controller.decide``, ``surroundings`` everybody else, ``laws`` what must hold whenever
somebody writes, ``ending`` what must come of each state. ``explore`` visits all states within a bound, ``walks`` takes
random ways through a larger one.
"""
