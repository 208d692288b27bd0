"""Which keys and architectures share a policy."""
