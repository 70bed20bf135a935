"""Stands for the official runtime client in tests: the same name, the same command, the same calls of the Runtime API."""
