"""From TOML text to specs; every error found in one run."""
