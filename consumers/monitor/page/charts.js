// All panels: what is drawn of which time, under one cursor.
import { Chart } from "./chart.js";

const KEPT = 4000; // points of a line

export class Charts {
  constructor(place, range) {
    this.place = place;
    this.points = new Map();
    this.charts = [];
    this.range = 0;
    range.addEventListener("change", event => {
      this.range = Number(event.target.value);
      this.draw();
    });
    new ResizeObserver(() => this.draw()).observe(place);
  }

  begin(panels) {
    if (this.charts.length) return; // the server started anew: what it tells replaces the points
    this.charts = panels.map(panel => new Chart(panel, time => this.cursor(time)));
    this.place.replaceChildren(...this.charts.map(chart => chart.figure));
  }

  take(curves) {
    for (const [name, { whole, points }] of Object.entries(curves)) {
      const known = whole ? [] : this.points.get(name) || [];
      known.push(...points);
      this.points.set(name, known.slice(-KEPT));
    }
    if (Object.keys(curves).length) this.draw();
  }

  now(rates) {
    this.rates = rates;
    this.cursor(this.time);
  }

  draw() {
    const ends = [...this.points.values()].filter(points => points.length);
    const last = Math.max(...ends.map(points => points.at(-1)[0]));
    const first = Math.min(...ends.map(points => points[0][0]));
    const from = this.range ? Math.max(first, last - this.range) : first;
    for (const chart of this.charts) chart.draw(this.points, ends.length ? [from, last] : null);
    this.cursor(this.time);
  }

  cursor(time) {
    this.time = time ?? null;
    for (const chart of this.charts) chart.point(this.time, this.rates);
  }
}
