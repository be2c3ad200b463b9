/** The address: what is open stands in the fragment, so that Back, reload and a sent link lead to it. */

import { effect, untracked } from "@preact/signals";

import { runOpen } from "./scenario/carry";
import { open } from "./scenario/document";
import { link } from "./scenario/link";
import { decode, type ShareError } from "./scenario/share";
import { about } from "./serve/state";
import { notice, question, tab, view, type View } from "./state";

/** What of the address is state; `#main` and the like are places in the page. */
function fragment(): string {
  switch (view.value) {
    case "gallery":
      return question.value === null ? "" : `#q=${question.value}`;
    case "suites":
    case "serve":
      return `#${view.value}`;
    case "lab":
      return link.value ? `#s=${link.value}` : "#lab";
  }
}

/** Opens what the address says; a link's scenario is run, so that its numbers are there. */
async function follow(): Promise<void> {
  const [key, value = ""] = location.hash.slice(1).split("=", 2);
  if (key === "s") await openShared(value);
  else if (key === "q") show("gallery", value);
  else if (key === "suites" || key === "lab" || (key === "serve" && about.value)) show(key, null);
  else if (key === "") show("gallery", null);
}

function show(opened: View, id: string | null): void {
  if (opened === "gallery") question.value = id;
  view.value = opened;
}

async function openShared(data: string): Promise<void> {
  if (data === link.peek() && view.peek() === "lab") return;
  try {
    const shared = await decode(data);
    open(shared.text, shared.name);
    link.value = data;
    tab.value = shared.tab ?? "result";
    view.value = "lab";
    await runOpen(shared.version);
  } catch (error) {
    notice.value = (error as ShareError).message;
  }
}

/** Reads the address now and whenever it changes, and writes it when something else is opened. */
export async function startRouting(): Promise<void> {
  addEventListener("hashchange", () => void follow());
  await follow();
  let before = untracked(() => view.value);
  effect(() => {
    const wanted = fragment();
    const change = view.value === before ? "replaceState" : "pushState";
    before = view.value;
    if (wanted === location.hash || isPlace(location.hash)) return;
    history[change](null, "", wanted || location.pathname + location.search);
  });
}

function isPlace(hash: string): boolean {
  return hash.length > 1 && !hash.includes("=") && document.getElementById(hash.slice(1)) !== null;
}
