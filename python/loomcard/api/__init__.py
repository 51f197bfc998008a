"""What a policy may import: the view, the plan, the loops, and what helps to write one."""
