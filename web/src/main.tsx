/** The shell: header, the view that is open, and what is said to screen readers. */

import { computed, effect, signal, useSignalEffect } from "@preact/signals";
import { render, type RefObject } from "preact";
import { useEffect, useRef } from "preact/hooks";

import "../../python/sojourn/page/tokens.css";
import "../../python/sojourn/page/page.css";
import "./lab.css";
import { themeSwitch } from "../../python/sojourn/page/page.js";
import { questions } from "./gallery/questions";
import { GalleryView } from "./gallery/view";
import { LabView } from "./lab";
import { watchTheme } from "./run/theme";
import { startRouting } from "./route";
import { origin } from "./scenario/document";
import { announcement, engine, notice, question, view, type View } from "./state";
import { join } from "./serve/join";
import { ServerView } from "./serve/page";
import { about } from "./serve/state";
import { SuitesView } from "./suites/view";

const VIEWS: readonly [View, string][] = [
  ["gallery", "Questions"],
  ["lab", "Lab"],
  ["suites", "Suites"],
];

/** Where `sojourn serve` answers. */
const SERVED: readonly [View, string][] = [["serve", "This machine"]];

const version = signal("");
effect(() => {
  const of = engine.value;
  void of.version().then(
    (found) => of === engine.peek() && (version.value = found),
    (error: Error) => of === engine.peek() && (notice.value = error.message),
  );
});

/** What is open, for the title of the window. */
const title = computed(() => {
  switch (view.value) {
    case "gallery":
      return questions.find(({ id }) => id === question.value)?.title ?? "Questions";
    case "lab":
      return origin.value || "Lab";
    case "suites":
      return "Suites";
  }
});

/** Says what is open, and leads keys and screen readers to it; not when the page itself was just opened. */
function useOpened(main: RefObject<HTMLElement | null>): void {
  const before = useRef<string | null>(null);
  const place = `${view.value}/${question.value}`;
  useEffect(() => {
    if (before.current !== null && before.current !== place) {
      main.current?.focus({ preventScroll: true });
      scrollTo(0, 0);
    }
    before.current = place;
  }, [place]);
  useSignalEffect(() => {
    document.title = `${title.value} · Sojourn`;
  });
}

function Shell() {
  const main = useRef<HTMLElement>(null);
  useOpened(main);
  return (
    <>
      <a class="skip" href="#main">Skip to content</a>
      <header class="bar no-print">
        <b class="brand">Sojourn</b>
        <nav aria-label="Views">
          {[...VIEWS, ...(about.value ? SERVED : [])].map(([name, label]) => (
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
      <main id="main" tabIndex={-1} ref={main}>
        <Open />
      </main>
      <footer class="foot soft">
        Engine {version}: the same as the command <code>sojourn</code>, {about.value ? "on this machine" : "here as WebAssembly"}. Nothing leaves {about.value ? "it" : "this page"}.
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
    case "serve":
      return <ServerView />;
  }
}

function ThemeSwitch() {
  const button = useRef<HTMLButtonElement>(null);
  useEffect(() => themeSwitch(button.current!), []);
  return <button ref={button} type="button" class="button theme" />;
}

watchTheme();
void join().then(startRouting).then(() => render(<Shell />, document.getElementById("root")!));
if ("serviceWorker" in navigator && isSecureContext) {
  // Without one the page works all the same, as long as there is a network.
  navigator.serviceWorker.register("sw.js").catch(() => undefined);
}
