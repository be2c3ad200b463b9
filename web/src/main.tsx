/** The shell: header, the view that is open, and what is said to screen readers. */

import { render } from "preact";

import "./lab.css";
import { GalleryView } from "./gallery/view";
import { LabView } from "./lab";
import { announcement, view, type View } from "./state";
import { SuitesView } from "./suites/view";

const VIEWS: [View, string][] = [
  ["gallery", "Questions"],
  ["lab", "Lab"],
  ["suites", "Suites"],
];

function Shell() {
  return (
    <>
      <a class="skip" href="#main">Skip to content</a>
      <header class="page-header">
        <span class="brand">Sojourn</span>
        <nav aria-label="Views">
          {VIEWS.map(([name, label]) => (
            <button
              key={name}
              type="button"
              aria-current={view.value === name ? "page" : undefined}
              onClick={() => (view.value = name)}
            >
              {label}
            </button>
          ))}
        </nav>
      </header>
      <main id="main" tabIndex={-1}>
        <Open />
      </main>
      <p class="visually-hidden" role="status" aria-live="polite">{announcement}</p>
    </>
  );
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

const root = document.getElementById("root");
if (root) render(<Shell />, root);
