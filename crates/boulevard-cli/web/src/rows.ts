// The rows of the table on the page: a list that can be filtered; a click explains a row.

import { ask, type Listed } from "./api.ts";
import { short } from "./words.ts";

/** What the list shows. */
export interface Wanted {
  is: string;
  said: string;
  wrong: boolean;
}

const EVERY: Wanted = { is: "", said: "", wrong: false };

/** The address of a part of the list. */
export function address(fit: number, point: number | null, wanted: Wanted, from: number): string {
  const asked = new URLSearchParams();
  if (point !== null) asked.set("point", String(point));
  if (wanted.is) asked.set("is", wanted.is);
  if (wanted.said) asked.set("said", wanted.said);
  if (wanted.wrong) asked.set("wrong", "true");
  if (from > 0) asked.set("from", String(from));
  const text = asked.toString();
  return `/api/fits/${fit}/rows${text ? `?${text}` : ""}`;
}

function element<K extends keyof HTMLElementTagNameMap>(tag: K, text = ""): HTMLElementTagNameMap[K] {
  const made = document.createElement(tag);
  made.textContent = text;
  return made;
}

/** The list in its section. */
export class RowList {
  private fit = 0;
  private point: number | null = null;
  private wanted = EVERY;
  private shown = 0;
  private readonly is = element("select");
  private readonly said = element("select");
  private readonly wrong = element("input");
  private readonly count = element("p");
  private readonly table = element("table");
  private readonly more = element("button", "more rows");

  constructor(
    private readonly section: HTMLElement,
    private readonly onRow: (row: number) => void,
    private readonly attempt: (act: () => Promise<void>) => void,
  ) {
    const labelled = (text: string, input: HTMLElement) => {
      const label = element("label", `${text} `);
      label.append(input);
      return label;
    };
    this.wrong.type = "checkbox";
    const filters = element("p");
    filters.className = "filters";
    filters.append(labelled("is", this.is), labelled("said", this.said), labelled("wrong only", this.wrong));
    for (const input of [this.is, this.said, this.wrong]) input.addEventListener("change", () => this.refine({ is: this.is.value, said: this.said.value, wrong: this.wrong.checked }));
    this.count.className = "soft";
    this.count.setAttribute("role", "status");
    const box = element("div");
    box.className = "scroll";
    box.tabIndex = 0;
    box.setAttribute("role", "group");
    box.setAttribute("aria-label", "Rows");
    box.append(this.table);
    this.more.type = "button";
    this.more.addEventListener("click", () => this.attempt(() => this.load(this.shown)));
    section.replaceChildren(element("h2", "Rows"), filters, this.count, box, this.more);
  }

  /** Rows of another model or point; the filter stays. */
  async show(fit: number, point: number | null): Promise<void> {
    if (fit !== this.fit) this.wanted = EVERY;
    [this.fit, this.point] = [fit, point];
    await this.load(0);
  }

  /** Other rows of the same model. */
  refine(wanted: Wanted): void {
    this.wanted = wanted;
    this.attempt(() => this.load(0));
  }

  private async load(from: number): Promise<void> {
    const found = await ask<Listed>(address(this.fit, this.point, this.wanted, from));
    this.section.hidden = found.classes.length === 0;
    if (found.classes.length === 0) return;
    for (const [select, value] of [[this.is, this.wanted.is], [this.said, this.wanted.said]] as const) {
      select.replaceChildren(new Option("any", ""), ...found.classes.map((name) => new Option(name, name)));
      select.value = value;
    }
    this.wrong.checked = this.wanted.wrong;
    if (from === 0) {
      const head = element("thead").appendChild(element("tr"));
      head.append(...["row", "is", "said", "margin", ...found.columns].map((name) => Object.assign(element("th", name), { scope: "col" })));
      this.table.replaceChildren(head.parentElement!, element("tbody"));
    }
    const body = this.table.tBodies[0]!;
    for (const one of found.rows) {
      const line = body.insertRow();
      const button = element("button", String(one.row));
      button.type = "button";
      button.title = "why it is decided so";
      button.addEventListener("click", () => this.onRow(one.row));
      line.insertCell().append(button);
      for (const text of [one.is, one.said]) line.insertCell().textContent = text;
      for (const text of [short(one.margin, 3), ...one.values]) Object.assign(line.insertCell(), { className: "n", textContent: text });
      if (one.is !== one.said) line.className = "wrong";
    }
    this.shown = from + found.rows.length;
    const which = found.heldOut ? "judged by machines that did not see them" : "as the model says about the rows it learnt from";
    this.count.textContent = `${this.shown} of ${found.total} rows, the hardest first, ${which}.`;
    this.more.hidden = this.shown >= found.total;
  }
}
