// The keys of the page: `?` lists them.

export const KEYS: [string, string][] = [
  ["?", "this list"],
  ["Tab", "from one control or picture to the next"],
  ["← →", "in a picture that can be chosen from: one point on, one back"],
  ["Page Up, Page Down", "ten points"],
  ["Home, End", "the first and the last point"],
  ["Enter", "choose the point: everything else follows"],
  ["Esc", "close this list"],
];

/** Opens the list on `?`, unless somebody is typing, and from its button. */
export function listenToKeys(dialog: HTMLDialogElement, button: HTMLElement): void {
  const list = document.createElement("dl");
  list.className = "facts";
  for (const [key, words] of KEYS) {
    const term = document.createElement("dt");
    term.append(Object.assign(document.createElement("kbd"), { textContent: key }));
    list.append(term, Object.assign(document.createElement("dd"), { textContent: words }));
  }
  const close = Object.assign(document.createElement("button"), { type: "button", textContent: "close" });
  close.addEventListener("click", () => dialog.close());
  dialog.append(list, close);
  const open = () => {
    if (!dialog.open) dialog.showModal();
  };
  button.addEventListener("click", open);
  addEventListener("keydown", (event) => {
    const typing = event.target instanceof HTMLInputElement && !["checkbox", "range", "file"].includes(event.target.type);
    if (event.key === "?" && !typing && !event.ctrlKey && !event.metaKey && !event.altKey) {
      event.preventDefault();
      open();
    }
  });
}
