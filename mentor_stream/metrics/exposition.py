"""This process's metrics in the text that Prometheus reads."""

from collections.abc import Iterable, Sequence

from prometheus_client import ProcessCollector
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.exposition import choose_encoder

from mentor_stream.metrics import catalogue
from mentor_stream.metrics.catalogue import shared
from mentor_stream.metrics.health import Health
from mentor_stream.metrics.measure import Kind, Measure
from mentor_stream.metrics.readings import INSTANCE, Distribution, Readings


class Exposition:
    """All that is exposed of one process: a collector of prometheus-client."""

    def __init__(self, run: str, component: str, readings: Readings, health: Health) -> None:
        self._common = {"run": run, "component": component}
        self._measures = [m for m in catalogue.of(component) if m not in shared.OF_THE_LIBRARY]
        self._readings, self._health = readings, health
        self._process = ProcessCollector(registry=None)

    def text(self, accept: str) -> tuple[bytes, str]:
        """The values as they stand, in a form that is accepted, and its content type."""
        encode, content_type = choose_encoder(accept)
        return encode(self), content_type

    def collect(self) -> Iterable[Metric]:
        """See prometheus_client.registry.Collector."""
        self._readings.set(shared.PROCESS, 1, INSTANCE)
        self._readings.set(shared.ALIVE, not self._health.stuck())
        self._readings.set(shared.READY, not self._health.lacking())
        for family in (*map(self._family, self._measures), *self._process.collect()):
            family.samples = [s._replace(labels=self._common | s.labels) for s in family.samples]
            yield family

    def _family(self, measure: Measure) -> Metric:
        if measure.kind is Kind.HISTOGRAM:
            histogram = HistogramMetricFamily(measure.name, measure.means, labels=measure.labels)
            for labels, seen in self._readings.distributions(measure).items():
                histogram.add_metric(labels, _cumulative(measure, seen), seen.total)
            return histogram
        of_kind = CounterMetricFamily if measure.kind is Kind.COUNTER else GaugeMetricFamily
        family = of_kind(measure.name, measure.means, labels=measure.labels)
        for labels, value in self._readings.values(measure).items():
            family.add_metric(labels, value)
        return family


def _cumulative(measure: Measure, seen: Distribution) -> Sequence[tuple[str, float]]:
    """Bounds with how many values are no greater."""
    bounds = (*(f"{bound:g}" for bound in measure.buckets), "+Inf")
    return [(bound, float(sum(seen.counts[: i + 1]))) for i, bound in enumerate(bounds)]
