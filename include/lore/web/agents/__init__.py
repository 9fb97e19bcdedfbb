"""Agents that speak the Model Context Protocol."""
