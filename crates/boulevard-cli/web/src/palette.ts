// Colors by role. The hues are Okabe and Ito's, which color-blind people can tell apart; a line style or a symbol says the same again.

/** How many classes have a color of their own. */
export const CLASSES = 8;

export function color(role: string): string {
  const match = /^class(\d+)$/.exec(role);
  return match ? `var(--class${Number(match[1]) % CLASSES})` : `var(--${role})`;
}

/** Dashes of lines: roles are told apart without color too. */
export function dash(role: string): string | undefined {
  const match = /^class(\d+)$/.exec(role);
  if (match) return [undefined, "7 3", "2 3", "9 3 2 3", "4 4", "1 4", "12 3", "6 2 2 2"][Number(match[1]) % CLASSES];
  return { holdout: "7 3", estimate: "2 3", baseline: "4 4", chosen: "1 3" }[role];
}

/** Dashes of a line among others: one that has no other to be told from is drawn through. */
export function dashAmong(lines: { mark: string; role: string }[], role: string): string | undefined {
  const others = lines.filter((line) => (line.mark === "line" || line.mark === "step") && line.role !== "baseline" && line.role !== role);
  return role === "baseline" || role === "chosen" || others.length ? dash(role) : undefined;
}

/** Symbols of points by role. */
export function symbol(role: string): "circle" | "triangle" | "square" | "diamond" | "star" | "cross" | "wye" | "times" {
  const all = ["circle", "triangle", "square", "diamond", "star", "cross", "wye", "times"] as const;
  const match = /^class(\d+)$/.exec(role);
  if (match) return all[Number(match[1]) % CLASSES]!;
  return role === "chosen" ? "star" : role === "baseline" ? "diamond" : "circle";
}

/** A color of the page as numbers, for canvases. */
export function resolved(element: Element, variable: string): [number, number, number] {
  const text = getComputedStyle(element).getPropertyValue(variable).trim();
  const hex = /^#([0-9a-f]{6})$/i.exec(text);
  if (!hex) return [128, 128, 128];
  const value = parseInt(hex[1]!, 16);
  return [(value >> 16) & 255, (value >> 8) & 255, value & 255];
}
