// Numbers as people read them.

/** At most `digits` significant digits, no exponent where a plain number is short. */
export function short(value: number | string | null | undefined, digits = 4): string {
  if (typeof value === "string") return value;
  if (value === null || value === undefined || Number.isNaN(value)) return "–";
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size >= 1e7 || size < 1e-4) {
    const [mantissa, exponent] = value.toExponential(Math.max(0, digits - 2)).split("e");
    return `${Number(mantissa)}e${Number(exponent)}`.replace("-", "−").replace("e-", "e−");
  }
  return String(Number(value.toPrecision(digits))).replace("-", "−");
}

/** A tick with its unit: percent is written "12 %". */
export function tick(value: number, unit?: string): string {
  return unit ? `${short(value)} ${unit}` : short(value);
}

const RAISED = "⁰¹²³⁴⁵⁶⁷⁸⁹";

/** A tick of an axis of logarithms: powers of ten that are far from one as powers, all others plainly. */
export function logTick(value: number, unit?: string): string {
  const power = Math.round(Math.log10(value));
  if (Math.abs(power) < 4 || Math.abs(value / 10 ** power - 1) > 1e-6) return tick(value, unit);
  const raised = `10${power < 0 ? "⁻" : ""}${[...String(Math.abs(power))].map((digit) => RAISED[Number(digit)]).join("")}`;
  return unit ? `${raised} ${unit}` : raised;
}

/** A sentence in parts: names in backquotes apart, and percent signs on the line of their numbers. */
export function partsOf(text: string): { text: string; name: boolean }[] {
  const parts = text.replaceAll(" %", "\u00a0%").split("`");
  // An odd quote at the end is one that somebody's name has.
  const left = parts.length % 2 === 0 ? parts.pop() : undefined;
  const found = parts.map((part, i) => ({ text: part, name: i % 2 === 1 }));
  return left === undefined ? found : [...found, { text: `\`${left}`, name: false }];
}

/** Writes a sentence into an element. */
export function say(node: HTMLElement, text: string): void {
  node.replaceChildren(
    ...partsOf(text).map((part) => {
      if (!part.name) return document.createTextNode(part.text);
      const made = document.createElement("code");
      made.textContent = part.text;
      return made;
    }),
  );
}

/** An axis' label with its unit. */
export function axisLabel(label: string, unit?: string): string {
  return unit ? `${label} (${unit})` : label;
}

/** Seconds for people. */
export function seconds(value: number): string {
  if (value < 0.9995) return `${Math.round(value * 1000)} ms`;
  if (value < 100) return `${value.toFixed(1)} s`;
  return `${Math.floor(value / 60)} min ${Math.round(value % 60)} s`;
}
