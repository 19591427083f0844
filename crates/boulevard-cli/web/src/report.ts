// A report: the words are in the file, the pictures are drawn into their places.

import { PictureFigure } from "./figure.ts";
import { linkThreshold } from "./threshold.ts";
import type { Picture } from "./types.ts";

function start(): void {
  const data = document.getElementById("pictures");
  if (!data?.textContent) return;
  const pictures = JSON.parse(data.textContent) as Picture[];
  const waiting = Array.from(document.querySelectorAll<HTMLElement>("figure[data-picture]"));
  const made = new Map<HTMLElement, PictureFigure>();
  const drawOne = (figure: HTMLElement) => {
    const picture = pictures[Number(figure.dataset["picture"])];
    if (picture && !figure.dataset["drawn"]) {
      figure.dataset["drawn"] = "yes";
      made.set(figure, new PictureFigure(picture, { bare: true }, figure));
    }
  };
  // What is on the screen first; the rest when the browser has time, so that the first paint does not wait for it.
  const [first, later] = [waiting.slice(0, 2), waiting.slice(2)];
  first.forEach(drawOne);
  const next = () => {
    const figure = later.shift();
    if (!figure) {
      for (const box of document.querySelectorAll<HTMLElement>(".cards"))
        linkThreshold(Array.from(box.querySelectorAll<HTMLElement>("figure")).flatMap((one) => made.get(one) ?? []), box);
      document.documentElement.dataset["ready"] = "yes";
      return;
    }
    drawOne(figure);
    setTimeout(next, 0);
  };
  setTimeout(next, 0);
  addEventListener("beforeprint", () => later.splice(0).forEach(drawOne));
}

start();
