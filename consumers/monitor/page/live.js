// The connection: server-sent events, and what to say and do when nothing comes.
import { clock } from "./words.js";

const SILENCE = 15000; // the server says something every five seconds
const AGAIN = 3000;

export class Live {
  // `page` has all(told), more(told) and connection(state, words).
  constructor(page) {
    this.page = page;
    this.heard = 0;
    this.open();
    setInterval(() => this.watch(), 1000);
  }

  open() {
    this.source?.close();
    this.opened = Date.now();
    // A source of its own asks again by itself with the id it had last, and is told what came since.
    this.source = new EventSource("events");
    this.source.addEventListener("all", event => this.take("all", event));
    this.source.addEventListener("more", event => this.take("more", event));
    this.source.addEventListener("error", () => this.lost());
  }

  take(kind, event) {
    const told = JSON.parse(event.data);
    this.heard = Date.now();
    this.away = false;
    this.page[kind](told);
    const { away } = told.status.broker;
    if (away) this.page.connection("bad", "broker away");
    else if (!told.status.caught_up) this.page.connection("wait", "reading");
    else if (told.status.finished) this.page.connection("done", "finished");
    else this.page.connection("good", "live");
  }

  lost() {
    this.away = true;
    const since = this.heard ? `, shown as of ${clock(this.heard / 1000)}` : "";
    this.page.connection("bad", `server away${since}`);
    // One that was refused does not ask again.
    if (this.source.readyState === EventSource.CLOSED) setTimeout(() => this.open(), AGAIN);
  }

  // A connection may die without a word: a laptop that slept, a router that forgot.
  watch() {
    const quiet = Date.now() - Math.max(this.heard, this.opened);
    if (quiet > SILENCE && this.source.readyState !== EventSource.CLOSED) {
      this.lost();
      this.open();
    }
  }
}
