"""The option ``--metrics [HOST:]PORT`` of commands whose state Prometheus can read."""

from marqueue.extras import require


def metrics_address(metrics: str | None) -> tuple[str, int] | None:
    """The address of --metrics. Raises RunError if it is wrong, and MissingExtra."""
    if metrics is None:
        return None
    require("metrics", "--metrics")
    from marqueue.live.metrics import parse_address

    return parse_address(metrics)
