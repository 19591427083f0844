// The form: roles of columns, the method, its parameters, and the command line they make.

import type { Flag, Method, Source } from "./api.ts";

const ROLES: [string, string][] = [
  ["label", "column to predict"],
  ["labels", "several labels (a,b,c)"],
  ["group", "rows that belong together"],
  ["task", "task"],
  ["weight", "weight"],
  ["ignore", "leave out (a,b,c)"],
];

export interface Asked {
  method: string;
  columns: Record<string, string | boolean>;
  flags: Record<string, string | boolean>;
}

/** A word as it is typed into a shell. */
export function quoted(word: string): string {
  return /^[\p{L}\p{N}\-_./=,:+@%]+$/u.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}

/** The command line of what is asked for; the server makes the same. */
export function commandOf(asked: Asked, data: string): string {
  const words = ["train", data, "--method", asked.method];
  for (const [name, value] of [...Object.entries(asked.columns), ...Object.entries(asked.flags)]) {
    if (value === true) words.push(`--${name}`);
    else if (typeof value === "string" && value.trim()) words.push(`--${name}=${value.trim()}`);
  }
  return ["boulevard", ...words.map(quoted)].join(" ");
}

function field(id: string, label: string, help: string, input: HTMLElement): HTMLElement {
  const row = document.createElement("div");
  row.className = "field";
  const name = document.createElement("label");
  name.htmlFor = id;
  name.textContent = label;
  name.title = help;
  input.id = id;
  input.title = help;
  row.append(name, input);
  return row;
}

function choice(options: string[], first: string): HTMLSelectElement {
  const select = document.createElement("select");
  for (const [value, text] of [["", first], ...options.map((option) => [option, option])]) select.add(new Option(text!, value!));
  return select;
}

/** Inputs for the roles of columns. */
export function roleFields(box: HTMLElement, source: Source | null): void {
  box.replaceChildren(
    ...ROLES.map(([name, words]) => {
      const list = ["labels", "ignore"].includes(name) || !source?.columns.length;
      const input = list ? document.createElement("input") : choice(source!.columns, name === "label" ? "the last one" : "none");
      input.dataset["column"] = name;
      return field(`column-${name}`, words, `--${name}`, input);
    }),
  );
}

/** Inputs for the flags of a method; returns those that matter first and the others. */
export function flagFields(method: Method, main: HTMLElement, others: HTMLElement, source: Source | null): void {
  const make = (flag: Flag) => {
    let input: HTMLInputElement | HTMLSelectElement;
    if (flag.switch) {
      input = document.createElement("input");
      input.type = "checkbox";
    } else if (flag.choices.length) {
      input = choice(flag.choices, "default");
      if (flag.name === "scale" && source?.uneven) input.value = "standard";
    } else {
      input = document.createElement("input");
      input.placeholder = /\[default: ([^;\]]+)/.exec(flag.help ?? "")?.[1] ?? "default";
      input.autocomplete = "off";
    }
    input.dataset["flag"] = flag.name;
    return field(`flag-${flag.name}`, flag.name, flag.help ?? "", input);
  };
  main.replaceChildren(...method.flags.filter((flag) => flag.main).map(make));
  others.replaceChildren(...method.flags.filter((flag) => !flag.main).map(make));
}

/** What the form says. */
export function read(form: HTMLElement, method: string): Asked {
  const values = (name: "column" | "flag") => {
    const found: Record<string, string | boolean> = {};
    for (const input of form.querySelectorAll<HTMLInputElement | HTMLSelectElement>(`[data-${name}]`)) {
      const value = input instanceof HTMLInputElement && input.type === "checkbox" ? input.checked : input.value.trim();
      if (value) found[input.dataset[name]!] = value;
    }
    return found;
  };
  return { method, columns: values("column"), flags: values("flag") };
}
