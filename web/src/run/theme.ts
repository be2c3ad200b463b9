/** Colours of curves as the page has them now: those of tokens.css, which are other in the dark and on paper. */

import { signal } from "@preact/signals";

import { COLOURS, type Colour } from "./looks";

export type Theme = Record<Colour | "ink" | "soft" | "grid" | "paper", string> & { readonly font: string };

const LIGHT: Theme = {
  prague: "#0072b2", cubic: "#d55e00", reno: "#cc79a7", bbr: "#009e73", dctcp: "#56b4e9", spare: "#e69f00", ping: "#595959",
  ink: "#1d2125", soft: "#5a626b", grid: "#e6e8eb", paper: "#ffffff", font: "system-ui, sans-serif",
}; // prettier-ignore

/** Grows when the colours have changed. */
export const themes = signal(0);

/** While the page is on its way to paper, which is light. */
let isPrinting = false;

/** Of files and paper. */
export function light(): Theme {
  return LIGHT;
}

/** Computed colours; `light-dark()` and `var()` are resolved by an element that wears them. */
export function present(): Theme {
  if (isPrinting) return LIGHT;
  const probe = document.createElement("span");
  probe.hidden = true;
  document.body.append(probe);
  const read = (name: string, otherwise: string): string => {
    probe.style.color = `var(--${name}, ${otherwise})`;
    return getComputedStyle(probe).color;
  };
  const names = [...COLOURS, "soft", "grid", "paper"] as const;
  const colours = Object.fromEntries(names.map((name) => [name, read(name, LIGHT[name])]));
  const { fontFamily } = getComputedStyle(document.body);
  probe.remove();
  return { ...LIGHT, ...colours, font: fontFamily };
}

/** Watches the reader's choice, the system's and the printer. */
export function watchTheme(): () => void {
  const changed = (): void => void (themes.value += 1);
  const observer = new MutationObserver(changed);
  observer.observe(document.documentElement, { attributes: true, attributeFilter: ["data-theme"] });
  const dark = matchMedia("(prefers-color-scheme: dark)");
  dark.addEventListener("change", changed);
  const print = ({ type }: Event): void => {
    isPrinting = type === "beforeprint";
    changed();
  };
  for (const type of ["beforeprint", "afterprint"]) addEventListener(type, print);
  return () => {
    observer.disconnect();
    dark.removeEventListener("change", changed);
    for (const type of ["beforeprint", "afterprint"]) removeEventListener(type, print);
  };
}
