"""Compiled counting and solving. No privacy in here: exact functions of their inputs."""
