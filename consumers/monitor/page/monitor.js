// The page: takes what the server tells and hands it to its parts.
import { Charts } from "./charts.js";
import { Components } from "./components.js";
import { Hints } from "./hints.js";
import { Live } from "./live.js";
import { Story } from "./story.js";

const charts = new Charts(document.getElementById("panels"), document.getElementById("range"));
const components = new Components();
const story = new Story();
const hints = new Hints();

new Live({
  all(told) {
    document.getElementById("run").textContent = told.run;
    document.title = `${told.run} – Mentor Stream`;
    charts.begin(told.panels);
    this.more(told);
  },
  more(told) {
    charts.take(told.curves);
    hints.take(told.hints);
    charts.now(told.status.rates);
    components.take(told.status);
    story.take(told.hints.newest, told.status.caught_up);
  },
  connection(state, words) {
    components.connection(state, words);
  },
});
