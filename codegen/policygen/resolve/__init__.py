"""From a spec and a key to a policy, with its trace."""
