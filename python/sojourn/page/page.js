// @ts-check
/**
 * Small behaviours that report and lab share: theme, sections that open and close, contents that show where the reader
 * is, and their state in the URL's fragment. Nothing here makes a request or needs a framework.
 */

const THEME = "sojourn.theme";
const NEXT = /** @type {const} */ ({ auto: "light", light: "dark", dark: "auto" });

/** @typedef {keyof typeof NEXT} Theme */

/**
 * What a link to a page says besides the place in it: `#place&find=dualpi2&zoom=3:10-20`. Each change replaces the address
 * without an entry in the history, so that it can be copied at any time and Back still leaves the page.
 */
export class Fragment {
  /** @type {Map<string, string>} */
  #values = new Map();
  #place = "";

  constructor() { this.read(); }

  /** Reads the address anew; returns whether it named state, rather than a place alone. */
  read() {
    const parts = location.hash.slice(1).split("&").filter(Boolean);
    const pairs = parts.filter(part => part.includes("="));
    this.#place = decoded(parts.find(part => !part.includes("=")) ?? "");
    if (pairs.length) this.#values = new Map(pairs.map(pair => {
      const at = pair.indexOf("=");
      return [decoded(pair.slice(0, at)), decoded(pair.slice(at + 1))];
    }));
    return pairs.length > 0;
  }

  /** Id of the element that the address leads to, or nothing. */
  get place() { return this.#place; }
  set place(id) { this.#place = id; this.#write(); }

  /** @param {string} key @returns {string} empty if it is not there */
  get(key) { return this.#values.get(key) ?? ""; }

  /** @param {string} key @param {string} value empty removes it */
  set(key, value) {
    if (value) this.#values.set(key, value); else this.#values.delete(key);
    this.#write();
  }

  /** The fragment, with its `#`; empty without state and place. */
  toString() {
    const parts = [...this.#values].map(([key, value]) => `${encoded(key)}=${encoded(value)}`);
    if (this.#place) parts.unshift(encoded(this.#place));
    return parts.length ? "#" + parts.join("&") : "";
  }

  #write() {
    const url = this.toString() || location.pathname + location.search;
    // Some browsers refuse too many changes in a short time; the next one carries this one too.
    try { history.replaceState(history.state, "", url); } catch { /* as above */ }
  }
}

/** @param {string} text */
const encoded = text => encodeURIComponent(text).replace(/%(2C|3A|2F|40|7E)/g, decodeURIComponent);

/** @param {string} text */
function decoded(text) {
  try { return decodeURIComponent(text); } catch { return text; }
}

/** The theme that the reader chose here, or `auto`. @returns {Theme} */
export function chosenTheme() {
  const root = document.documentElement.dataset.theme;
  if (root === "light" || root === "dark") return root;
  try {
    const stored = localStorage.getItem(THEME);
    return stored === "light" || stored === "dark" ? stored : "auto";
  } catch { return "auto"; }
}

/** @param {Theme} theme */
export function setTheme(theme) {
  const root = document.documentElement;
  if (theme === "auto") delete root.dataset.theme; else root.dataset.theme = theme;
  try {
    if (theme === "auto") localStorage.removeItem(THEME); else localStorage.setItem(THEME, theme);
  } catch { /* a page from a file may have no storage */ }
  dispatchEvent(new Event("themechange"));
}

/** Whether the page is dark now; paper never is. */
export const isDark = () => !matchMedia("print").matches &&
  ({ auto: matchMedia("(prefers-color-scheme: dark)").matches, light: false, dark: true })[chosenTheme()];

/** Calls back whenever the colours of the page change. @param {() => void} changed @param {AbortSignal} signal ends it */
export function onTheme(changed, signal) {
  addEventListener("themechange", changed, { signal });
  for (const query of ["(prefers-color-scheme: dark)", "print"]) matchMedia(query).addEventListener("change", changed, { signal });
}

/** A button that goes from the system's theme to light to dark. @param {HTMLElement} button */
export function themeSwitch(button) {
  const show = () => {
    const theme = chosenTheme();
    button.textContent = `Theme: ${theme}`;
    button.setAttribute("aria-label", `Theme: ${theme}; change to ${NEXT[theme]}`);
  };
  setTheme(chosenTheme());
  show();
  button.hidden = false;
  button.addEventListener("click", () => { setTheme(NEXT[chosenTheme()]); show(); });
}

/** A custom property of tokens.css as the colour that it is now, for canvases. @param {string} name with its dashes */
export function tone(name) {
  const probe = document.createElement("span");
  probe.style.color = `var(${name})`;
  probe.hidden = true;
  document.body.append(probe);
  const colour = getComputedStyle(probe).color;
  probe.remove();
  return colour;
}

/**
 * A curve's colour where it is too dark for a dark page: lifted towards white to a contrast of 4 at least.
 * @param {string} colour as #rrggbb
 */
export function legible(colour) {
  if (!isDark()) return colour;
  const parts = [1, 3, 5].map(at => parseInt(colour.slice(at, at + 2), 16));
  let lifted = parts;
  for (let share = 0.1; luminance(lifted) < 0.19 && share < 1; share += 0.1) {
    lifted = parts.map(part => Math.round(part + (255 - part) * share));
  }
  return "#" + lifted.map(part => part.toString(16).padStart(2, "0")).join("");
}

/** @param {number[]} rgb 0 to 255 */
function luminance(rgb) {
  const [r = 0, g = 0, b = 0] = rgb.map(part => part / 255).map(c => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4));
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

/**
 * Keeps which `<details>` with an id are open in the fragment: those that differ from how they came.
 * @param {ParentNode} root @param {Fragment} fragment
 */
export function foldable(root, fragment) {
  const parts = [.../** @type {NodeListOf<HTMLDetailsElement>} */ (root.querySelectorAll("details[data-fold]"))];
  const usual = new Map(parts.map(part => [part, part.open]));
  const name = (/** @type {HTMLDetailsElement} */ part) => part.dataset.fold ?? "";
  const apply = () => {
    const other = new Set(fragment.get("fold").split(",").filter(Boolean));
    for (const part of parts) part.open = other.has(name(part)) ? !usual.get(part) : Boolean(usual.get(part));
  };
  const keep = () => fragment.set("fold", parts.filter(part => part.open !== usual.get(part)).map(name).join(","));
  const all = [...root.querySelectorAll("[data-fold-all]")];
  const label = () => { for (const button of all) button.textContent = parts.some(part => !part.open) ? "Open all" : "Close all"; };
  let printing = false;
  apply();
  label();
  for (const part of parts) part.addEventListener("toggle", () => { if (!printing) { keep(); label(); } });
  /** @type {HTMLDetailsElement[]} */
  let shut = [];
  addEventListener("beforeprint", () => {
    printing = true;
    shut = parts.filter(part => !part.open);
    for (const part of shut) part.open = true;
  });
  addEventListener("afterprint", () => {
    for (const part of shut) part.open = false;
    // Toggle events come in a task of their own.
    setTimeout(() => { printing = false; });
  });
  for (const button of all) {
    button.addEventListener("click", () => {
      const open = parts.some(part => !part.open);
      for (const part of parts) part.open = open;
    });
  }
  return apply;
}

/** Opens what an element is in, and shows it. @param {string} id */
export function goTo(id) {
  const target = id ? document.getElementById(id) : null;
  if (!target) return false;
  for (let part = target.closest("details"); part; part = part.parentElement?.closest("details") ?? null) part.open = true;
  const inside = target.querySelector(":scope > details");
  if (inside instanceof HTMLDetailsElement) inside.open = true;
  target.scrollIntoView();
  return true;
}

/**
 * Contents that say where the reader is: beside the page as a list, on narrow screens as one line that opens.
 * @param {HTMLElement} nav with `details`, `summary .current` and links to places of the page
 * @returns {() => void} ends it
 */
export function contents(nav) {
  const links = [...nav.querySelectorAll("a")].filter(link => link.hash);
  const places = links.map(link => document.getElementById(decoded(link.hash.slice(1))));
  const current = nav.querySelector(".current"), details = nav.querySelector("details");
  const wide = matchMedia("(min-width: 1100px)");
  const fit = () => { if (details) details.open = wide.matches; };
  const left = new AbortController(), { signal } = left;
  fit();
  wide.addEventListener("change", fit, { signal });
  nav.addEventListener("click", event => {
    if (details && !wide.matches && event.target instanceof Element && event.target.closest("a")) details.open = false;
  });
  let shown = -1, isAsked = false;
  const mark = () => {
    isAsked = false;
    const line = innerHeight * 0.25;
    const atEnd = innerHeight + scrollY >= document.documentElement.scrollHeight - 2 && scrollY > 0;
    let at = atEnd ? places.length - 1 : 0;
    if (!atEnd) places.forEach((place, i) => { if (place && place.getBoundingClientRect().top <= line) at = i; });
    if (at === shown) return;
    shown = at;
    links.forEach((link, i) => (i === at ? link.setAttribute("aria-current", "true") : link.removeAttribute("aria-current")));
    if (current) current.textContent = links[at]?.textContent ?? "";
    // The list moves with the reader, the page does not.
    const link = links[at];
    if (link && wide.matches) {
      const [box, row] = [nav.getBoundingClientRect(), link.getBoundingClientRect()];
      if (row.top < box.top || row.bottom > box.bottom) nav.scrollTop += row.top - box.top - box.height / 2;
    }
  };
  const ask = () => { if (!isAsked) { isAsked = true; requestAnimationFrame(mark); } };
  addEventListener("scroll", ask, { passive: true, signal });
  addEventListener("resize", ask, { signal });
  mark();
  return () => left.abort();
}

/**
 * All of it for a page that is there: theme switch, contents, sections; links to places keep the state.
 * @param {(fragment: Fragment) => void} [restored] called whenever the address brings other state
 * @returns {Fragment}
 */
export function startPage(restored = () => {}) {
  const fragment = new Fragment();
  for (const button of /** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll("[data-theme-switch]"))) {
    themeSwitch(button);
  }
  for (const nav of /** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll(".contents"))) contents(nav);
  const fold = foldable(document, fragment);
  addEventListener("hashchange", () => {
    const place = fragment.read();
    if (place) { fold(); restored(fragment); } else fragment.place = fragment.place;
    goTo(fragment.place);
  });
  restored(fragment);
  if (fragment.place) goTo(fragment.place);
  return fragment;
}
