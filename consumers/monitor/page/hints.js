// The hints that go by, and those that were searched for.
import { ask, element, moment } from "./words.js";

const PAGE = 30;
const KEPT = 500;
const byId = id => document.getElementById(id);

export class Hints {
  constructor() {
    this.known = new Map(); // by id, the newest: between these there are no others
    this.shown = new Map(); // by id, when each in the list was given, and its element
    this.waiting = []; // came while somebody was reading
    this.search = null; // what is searched for, and from where on
    this.list = byId("list");
    byId("search").addEventListener("submit", event => { event.preventDefault(); this.begin(); });
    byId("words").addEventListener("search", () => byId("words").value || this.begin());
    byId("older").addEventListener("click", () => this.older());
    byId("fresh").addEventListener("click", () => this.catchUp());
  }

  take({ whole, newest }) {
    const anew = whole && !newest.some(hint => this.known.has(hint.id)); // others may lie between
    if (anew) this.known.clear();
    const fresh = newest.filter(hint => !this.known.has(hint.id));
    for (const hint of newest) {
      this.known.set(hint.id, hint);
      this.shown.get(hint.id)?.row.replaceWith(this.row(hint));
    }
    for (const id of [...this.known.keys()].slice(0, -KEPT)) this.known.delete(id);
    if (this.search) return;
    if (anew) this.clear();
    if (!anew && this.isRead()) this.waiting.push(...fresh);
    else this.show(fresh.slice(-PAGE));
    this.summary();
  }

  // Whether what comes would move what somebody reads.
  isRead() {
    return this.list.contains(document.activeElement) || this.list.matches(":hover") ||
      this.list.getBoundingClientRect().top < 0;
  }

  // Put up hints at the top, the oldest of them first.
  show(hints) {
    for (const hint of hints) this.list.prepend(this.row(hint));
    if (!this.search) while (this.shown.size > 3 * PAGE && !this.isRead()) this.drop();
    this.summary();
  }

  drop() {
    const last = this.list.lastElementChild;
    this.shown.delete(last.dataset.id);
    last.remove();
  }

  catchUp() {
    const hints = this.waiting.splice(0).slice(-PAGE);
    this.show(hints);
    if (hints.length) this.shown.get(hints.at(-1).id).row.querySelector("a").focus();
  }

  summary() {
    byId("none").hidden = this.shown.size > 0 || Boolean(this.search);
    byId("older").hidden = !(this.search ? this.search.before : this.shown.size && !this.ended);
    byId("older").textContent = this.search ? "Search further back" : "Older hints";
    byId("fresh").hidden = !this.waiting.length;
    byId("fresh").textContent = `Show ${this.waiting.length} new`;
  }

  async begin() {
    const words = byId("words").value.trim();
    this.clear();
    if (!words) {
      this.search = null;
      byId("found").textContent = "";
      this.show([...this.known.values()].sort((a, b) => a.time - b.time).slice(-PAGE));
      return;
    }
    this.search = { words, before: null };
    await this.further();
  }

  async further() {
    const search = this.search;
    byId("found").textContent = "Searching …";
    await this.asking(async () => {
      const told = await ask("questions", { search: search.words, ...(search.before && { before: search.before }) });
      if (this.search !== search) return; // another search began meanwhile
      this.append(told.found);
      search.before = told.before;
      const reach = told.before ? `, searched back to ${moment(told.before)}` : "";
      byId("found").textContent = `${this.shown.size} found${reach}.`;
    });
  }

  async older() {
    if (this.search) return this.further();
    const oldest = Math.min(...[...this.shown.values()].map(({ time }) => time));
    const near = [...this.known.values()].filter(hint => hint.time <= oldest && !this.shown.has(hint.id));
    if (near.length) return this.append(near.sort((a, b) => b.time - a.time).slice(0, PAGE));
    await this.asking(async () => {
      const told = await ask("hints", { before: oldest + 0.001 });
      this.ended = !told.before;
      this.append(told.hints);
      byId("found").textContent = "";
    });
  }

  append(hints) {
    for (const hint of hints) {
      if (this.shown.has(hint.id) || (!hint.hint && this.isShown(hint.question_key))) continue;
      this.list.append(this.row(this.known.get(hint.id) ?? hint));
    }
    this.summary();
  }

  isShown(key) {
    return [...this.shown.values()].some(one => one.key === key);
  }

  async asking(work) {
    byId("older").disabled = true;
    try {
      await work();
    } catch (error) {
      byId("found").textContent = `That did not work: ${error.message}`;
    }
    byId("older").disabled = false;
    this.summary();
  }

  clear() {
    this.list.replaceChildren();
    this.shown.clear();
    this.waiting = [];
    this.ended = false;
  }

  row(hint) {
    const row = element("li", { "data-id": hint.id }, element("article", { class: "card lesson" },
      element("div", { class: "head" },
        element("a", { href: `#question=${hint.question_key}` }, "History"),
        element("time", { datetime: new Date(hint.time * 1000).toISOString() }, moment(hint.time)),
        element("span", {}, hint.hint === null ? "no hint" : `${hint.guide}${hint.round > 1 ? `, round ${hint.round}` : ""}`),
        score(hint.score)),
      element("p", { class: "text question" }, hint.question),
      hint.causes.length ? element("details", {}, element("summary", {}, "What went wrong"),
        ...hint.causes.map(cause => element("p", { class: "text" }, cause))) : null,
      hint.diagnosed === false ? element("p", { class: "note" }, "No diagnosis of this hint was found.") : null,
      hint.hint === null ? null : element("p", { class: "text hint" }, hint.hint)));
    this.shown.set(hint.id, { time: hint.time, key: hint.question_key, row });
    return row;
  }
}

export function score(of) {
  if (!of) return element("span", { class: "score" }, "not answered yet");
  const left = of.answers > of.judged ? `, ${of.answers - of.judged} not judged` : "";
  return element("span", { class: of.right ? "score good" : "score bad" }, `${of.right} of ${of.judged} right${left}`);
}
