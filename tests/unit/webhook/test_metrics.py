"""Reviews as a scrape shows them."""

from webhook.metrics import Metrics


def test_reviews_are_counted_and_timed_by_phase() -> None:
    metrics = Metrics()
    for seconds in (0.0001, 0.0005, 0.003, 7.0):
        metrics.reviews.count("mutate", "Job", "patched", seconds)
    metrics.reviews.count("validate", "Pod", "denied", 0.25)
    shown = metrics.render().decode()
    for line in (
        "# TYPE muster_reviews_total counter",
        'muster_reviews_total{kind="Job",phase="mutate",result="patched"} 4.0',
        'muster_reviews_total{kind="Pod",phase="validate",result="denied"} 1.0',
        "# TYPE muster_review_seconds histogram",
        'muster_review_seconds_bucket{le="0.0005",phase="mutate"} 2.0',
        'muster_review_seconds_bucket{le="0.0025",phase="mutate"} 2.0',
        'muster_review_seconds_bucket{le="0.005",phase="mutate"} 3.0',
        'muster_review_seconds_bucket{le="2.0",phase="mutate"} 3.0',
        'muster_review_seconds_bucket{le="+Inf",phase="mutate"} 4.0',
        'muster_review_seconds_count{phase="mutate"} 4.0',
        'muster_review_seconds_sum{phase="mutate"} 7.0036',
        'muster_review_seconds_bucket{le="0.25",phase="validate"} 1.0',
    ):
        assert line in shown.splitlines()


def test_a_phase_that_was_asked_nothing_is_shown_at_0() -> None:
    assert 'muster_review_seconds_count{phase="validate"} 0.0' in Metrics().render().decode()
