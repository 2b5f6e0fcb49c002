"""Fluid models of networks: sources and queues as delay differential equations.

``from_scenario`` makes the description of a scenario, ``model`` evaluates and integrates its
equations, ``batch`` does so for many descriptions, ``solution`` gives the solution of a scenario
with names and units, ``warnings`` says where the model may not hold.
"""
