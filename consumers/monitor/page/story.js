// One question: every attempt, diagnosis and hint, in the order of time.
import { score } from "./hints.js";
import { ask, count, duration, element, figure, moment } from "./words.js";

const byId = id => document.getElementById(id);
const OPEN = /^#question=([0-9a-f]{16})$/;

export class Story {
  constructor() {
    this.dialog = byId("story");
    this.key = null;
    addEventListener("hashchange", () => this.follow());
    byId("close").addEventListener("click", () => this.dialog.close());
    byId("further").addEventListener("click", () => this.load(this.before));
    this.dialog.addEventListener("click", event => event.target === this.dialog && this.dialog.close());
    this.dialog.addEventListener("close", () => this.closed());
    this.follow();
  }

  follow() {
    const key = OPEN.exec(location.hash)?.[1] ?? null;
    if (key === this.key) return;
    this.key = key;
    if (!key) return this.dialog.open && this.dialog.close();
    this.happened = new Map();
    this.question = this.reference = this.before = null;
    byId("story-body").replaceChildren(element("p", { class: "note" }, "Reading the stream …"));
    if (!this.dialog.open) this.dialog.showModal();
    this.load(null);
  }

  closed() {
    this.key = null;
    if (OPEN.test(location.hash)) history.replaceState(null, "", location.pathname + location.search);
  }

  // What the server has read by now may be about the question that is looked at.
  take(hints, caughtUp) {
    const more = caughtUp && !this.caughtUp;
    this.caughtUp = caughtUp;
    if (this.key && (more || hints.some(hint => hint.question_key === this.key))) this.load(null);
  }

  async load(before) {
    const key = this.key;
    byId("further").disabled = true;
    try {
      const told = await ask("question", { key, ...(before && { before }) });
      if (this.key !== key) return;
      for (const one of told.history) this.happened.set(one.kind + one.id, one);
      this.question ??= told.question;
      this.reference ??= told.reference;
      if (before || !this.before) this.before = told.before;
      this.show();
    } catch (error) {
      if (this.key !== key) return;
      if (!this.happened.size) byId("story-body").replaceChildren(element("p", { class: "trouble" }, `That did not work: ${error.message}`));
    }
    byId("further").disabled = false;
  }

  show() {
    const open = new Set([...byId("story-body").querySelectorAll("details[open]")].map(one => one.dataset.id));
    const events = inOrder([...this.happened.values()]);
    const diagnosed = this.before ? null : new Set(events.map(event => event.guided_query_id)); // null: not all was read
    byId("story-body").replaceChildren(
      element("p", { class: "text asked" }, this.question ?? "Nothing about this question is at hand."),
      this.reference ? element("details", { "data-id": "reference" }, element("summary", {}, "Reference answer"), element("p", { class: "text" }, this.reference)) : null,
      element("ol", { class: "history" }, ...events.map(event => element("li", { class: event.kind }, ...SHOWN[event.kind](event, diagnosed)))));
    for (const one of byId("story-body").querySelectorAll("details")) one.open = open.has(one.dataset.id);
    byId("further").hidden = !this.before;
    byId("further").textContent = this.before ? `Look further back than ${moment(this.before)}` : "";
  }
}

const SHOWN = {
  group(group) {
    const asked = group.hint === null ? `Asked plainly, epoch ${group.attempt + 1}` : `Asked with the hint of round ${group.round}`;
    const versions = group.versions.length ? `, policy ${[...new Set(group.versions)].join(" to ")}` : "";
    return [
      head(group.time, asked + versions, score(group.score)),
      element("p", { class: "verdicts", "aria-hidden": "true" }, ...group.answers.map(one => element("span", { class: one.verdict }))),
      fold(group.id, `${group.answers.length} answers, ${count(group.tokens)} tokens`, group.answers.map(answer)),
    ];
  },
  diagnosis(case_) {
    const spent = [case_.calls.length && `${case_.calls.length} calls`, case_.tokens && `${count(case_.tokens)} tokens`, case_.seconds && figure(case_.seconds, "seconds")];
    return [
      head(case_.time, `Diagnosed by ${case_.guide}: ${case_.outcome}`),
      ...case_.causes.map(cause => element("p", { class: "text" }, cause)),
      case_.causes.includes(case_.reason) ? null : element("p", { class: "note" }, case_.reason),
      case_.calls.length ? fold(case_.id, spent.filter(Boolean).join(", "), case_.calls.map(call)) : null,
    ];
  },
  hint(hint, diagnosed) {
    return [
      head(hint.time, `Hint of round ${hint.round}`), element("p", { class: "text hint" }, hint.text),
      diagnosed && !diagnosed.has(hint.id) ? element("p", { class: "note" }, "No diagnosis of this hint was found.") : null,
    ];
  },
};

// In the order of time, but a diagnosis, which is recorded behind the hint that came of it, before that.
function inOrder(events) {
  const hints = new Map(events.filter(event => event.kind === "hint").map(hint => [hint.id, hint.time]));
  const place = event => Math.min(event.time, hints.get(event.guided_query_id) ?? event.time);
  return events.sort((a, b) => place(a) - place(b) || (a.kind === "hint") - (b.kind === "hint"));
}

function head(time, words, ...more) {
  return element("div", { class: "head" }, element("h3", {}, words),
    element("time", { datetime: new Date(time * 1000).toISOString() }, moment(time)), ...more);
}

function fold(id, words, inside) {
  return element("details", { "data-id": id }, element("summary", {}, words), ...inside);
}

function answer(one) {
  const said = [one.verdict, one.reward !== null && `reward ${figure(one.reward, "number")}`, `${count(one.tokens)} tokens`, one.finish !== "stop" && one.finish, one.remark];
  return element("div", { class: `answer ${one.verdict}` },
    element("p", { class: "note" }, said.filter(Boolean).join(", ")), element("p", { class: "text" }, one.text || "(nothing)"));
}

function call(one) {
  const verdict = one.passed === null ? "" : one.passed ? ": passed" : ": refused";
  const said = [one.model, one.tokens && `${count(one.tokens)} tokens`, one.seconds >= 0.1 && duration(one.seconds)];
  return element("div", { class: one.passed === false || one.error ? "answer wrong" : "answer" },
    element("p", { class: "note" }, [`${one.agent}${verdict}`, ...said].filter(Boolean).join(", ")),
    element("p", { class: "text" }, one.error || one.result || "(nothing)"));
}
