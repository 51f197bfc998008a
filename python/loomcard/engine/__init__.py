"""The parts that both engines share: the mirror, the round over all policies, the session."""
