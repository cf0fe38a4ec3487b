"""What holds for every test: how long something takes on the machine at hand decides nothing."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

# Hypothesis would fail an example that takes longer than 0.2 s, and a strategy that is slow to draw from.
settings.register_profile("any machine", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("any machine")
