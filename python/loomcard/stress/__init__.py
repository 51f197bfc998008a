"""Scenarios that try to break a policy, in the simulator, and predicates that say what must hold.

``scenario`` says what one is, ``crowds``, ``limits``, ``faults`` and ``lies`` hold them, ``watch``
sees what happens, ``predicates`` judge it, ``run`` does all of that, ``design`` knows what
Loomcard's own policies break by definition. docs/policies/stress.md has the table; ``loomcard
stress`` makes it.
"""
