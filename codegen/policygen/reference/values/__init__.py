"""Elements, operators and inputs."""
