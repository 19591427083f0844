// The ground of a decision map: a small canvas, one pixel per cell, stretched by the browser.

import { CLASSES, resolved } from "./palette.ts";
import type { Layer } from "./types.ts";

/** The class as a hue, how sure it is as strength: a data address that an image can show. */
export function groundImage(layer: Layer, themed: Element): string {
  const across = layer.across ?? 1;
  const classes = layer.columns["class"] as number[];
  const sure = layer.columns["value"] as number[];
  const down = Math.ceil(classes.length / across);
  const canvas = document.createElement("canvas");
  canvas.width = across;
  canvas.height = down;
  const context = canvas.getContext("2d");
  if (!context) return "";
  const paper = resolved(themed, "--card");
  const hues = Array.from({ length: CLASSES }, (_, place) => resolved(themed, `--class${place}`));
  const image = context.createImageData(across, down);
  for (let i = 0; i < classes.length; i++) {
    const hue = hues[(classes[i] ?? 0) % CLASSES]!;
    const strength = 0.14 + 0.3 * Math.min(1, Math.max(0, sure[i] ?? 0));
    // Cells come from the lower left, pixels from the upper left.
    const at = 4 * ((down - 1 - Math.floor(i / across)) * across + (i % across));
    for (let part = 0; part < 3; part++) image.data[at + part] = paper[part]! + strength * (hue[part]! - paper[part]!);
    image.data[at + 3] = 255;
  }
  context.putImageData(image, 0, 0);
  return canvas.toDataURL();
}
