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
