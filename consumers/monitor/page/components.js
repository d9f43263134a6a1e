// How far the run is, what waits, and who reports.
import { ago, clock, count, duration, element } from "./words.js";

const NAMES = { queries: "questions", guided: "hints", collapsed: "failed groups", groups: "groups" };
const STATES = {
  waiting: "Waiting", over: "Over", stopped: "Stopped", broken: "Broken", starved: "Starved", stalled: "Stalled",
  early: "Early", learning: "Learning",
};
const byId = id => document.getElementById(id);

export class Components {
  constructor() {
    this.ahead = 0; // of our clock before the server's, seconds
    setInterval(() => this.show(), 1000);
  }

  // What is thought of the run; said anew only where it changed, so that nobody hears it twice.
  verdict({ state, sentence, remarks }) {
    const said = [state, sentence, ...remarks].join("\n");
    if (said === this.said) return;
    this.said = said;
    byId("verdict").dataset.state = state;
    byId("state").textContent = STATES[state] || state;
    byId("sentence").textContent = sentence;
    byId("remarks").replaceChildren(...remarks.map(remark => element("li", {}, remark)));
  }

  take(status) {
    this.verdict(status.verdict);
    this.status = status;
    this.ahead = Date.now() / 1000 - status.now;
    byId("version").textContent = status.version === null ? "–" : count(status.version);
    byId("tokens").textContent = status.tokens === null ? "–" : count(status.tokens);
    this.progress(status);
    const queues = status.queues.map(queue => element("tr", {},
      element("th", { scope: "row" }, NAMES[queue.topic] || queue.topic, element("small", {}, ` for ${queue.reader}`)),
      element("td", {}, count(queue.waiting), queue.of ? element("small", {}, ` of ${queue.of}`) : null)));
    if (!queues.length) queues.push(element("tr", {}, element("td", { class: "note" }, status.finished ? "The run is over." : "Not known yet.")));
    byId("queues").replaceChildren(...queues);
    this.trouble(status);
    this.show();
  }

  progress({ progress, seconds_left: left, finished }) {
    byId("progress").value = finished ? 1 : progress ?? 0;
    const percent = progress === null ? "no end is set" : `${Math.round(100 * progress)} %`;
    const rest = left && !finished ? `, ${duration(left)} to go` : "";
    byId("left").textContent = finished ? "finished" : percent + rest;
  }

  trouble(status) {
    const said = [
      status.broker.away && `The broker is away: ${status.broker.away}`,
      status.broker.away && status.broker.answered && `It answered last at ${clock(status.broker.answered)}.`,
      status.dead_letters && `${count(status.dead_letters)} dead letters: mentor-stream dead-letters list.`,
      status.unreadable && `${count(status.unreadable)} records could not be read here.`,
    ].filter(Boolean).join("\n");
    const place = byId("trouble");
    if (place.textContent !== said) place.textContent = said;
    place.hidden = !said;
  }

  // Ages go on between two words of the server.
  show() {
    const status = this.status;
    if (!status) return;
    const now = Date.now() / 1000 - this.ahead;
    byId("age").textContent = status.newest ? ago(now - status.newest) : "–";
    const rows = status.processes.map(one => {
      const state = status.finished ? "ended" : one.quiet ? "quiet" : "reports";
      return element("tr", { class: state },
        element("th", { scope: "row" }, one.component, element("small", {}, ` ${one.instance}`)),
        element("td", {}, element("span", { class: "state" }, state), element("small", {}, ` ${ago(now - one.reported)}`)));
    });
    if (!rows.length) rows.push(element("tr", {}, element("td", { class: "note" }, "Nothing has reported yet.")));
    byId("processes").replaceChildren(...rows);
  }

  connection(state, words) {
    const pill = byId("connection");
    pill.dataset.state = state;
    if (pill.textContent !== words) pill.textContent = words;
  }
}
