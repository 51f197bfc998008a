"""Scenarios that try to break a policy, in the simulator, and predicates that every run must
fulfil.

``scenario`` defines a scenario; ``crowds``, ``limits``, ``faults`` and ``lies`` contain them.
``watch`` records what happens, ``predicates`` judge it, ``run`` does all of this. ``design`` lists
what Loomcard's own policies break by their definition. docs/policies/stress.md has the table;
``loomcard stress`` makes it.
"""
