/** The shell: header, the view that is open, and what is said to screen readers. */

import { effect, signal } from "@preact/signals";
import { render } from "preact";
import { useEffect, useRef } from "preact/hooks";

import "../../python/sojourn/page/tokens.css";
import "../../python/sojourn/page/page.css";
import "./lab.css";
import { themeSwitch } from "../../python/sojourn/page/page.js";
import { GalleryView } from "./gallery/view";
import { LabView } from "./lab";
import { watchTheme } from "./run/theme";
import { startRouting } from "./route";
import { announcement, engine, notice, question, view, type View } from "./state";
import { SuitesView } from "./suites/view";

const VIEWS: readonly [View, string][] = [
  ["gallery", "Questions"],
  ["lab", "Lab"],
  ["suites", "Suites"],
];

const version = signal("");
effect(() => {
  void engine.value.version().then((found) => (version.value = found), (error: Error) => (notice.value = error.message));
});

function Shell() {
  return (
    <>
      <a class="skip" href="#main">Skip to content</a>
      <header class="bar no-print">
        <b class="brand">Sojourn</b>
        <nav aria-label="Views">
          {VIEWS.map(([name, label]) => (
            <button key={name} type="button" aria-current={view.value === name ? "page" : undefined} onClick={() => go(name)}>
              {label}
            </button>
          ))}
        </nav>
        <ThemeSwitch />
      </header>
      {notice.value !== null && (
        <p class="warning notice" role="alert">
          {notice.value} <button type="button" class="link" onClick={() => (notice.value = null)}>Close</button>
        </p>
      )}
      <main id="main" tabIndex={-1}>
        <Open />
      </main>
      <footer class="foot soft">
        Engine {version}: the same as the command <code>sojourn</code>, here as WebAssembly. Nothing leaves this page.
      </footer>
      <p class="visually-hidden" role="status" aria-live="polite">{announcement}</p>
    </>
  );
}

function go(to: View): void {
  if (to === "gallery") question.value = null;
  view.value = to;
}

function Open() {
  switch (view.value) {
    case "gallery":
      return <GalleryView />;
    case "lab":
      return <LabView />;
    case "suites":
      return <SuitesView />;
  }
}

function ThemeSwitch() {
  const button = useRef<HTMLButtonElement>(null);
  useEffect(() => themeSwitch(button.current!), []);
  return <button ref={button} type="button" class="button theme" />;
}

watchTheme();
void startRouting().then(() => render(<Shell />, document.getElementById("root")!));
if ("serviceWorker" in navigator && isSecureContext) {
  // Without one the page works all the same, as long as there is a network.
  navigator.serviceWorker.register("sw.js").catch(() => undefined);
}
