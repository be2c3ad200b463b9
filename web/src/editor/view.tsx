/** The scenario file: an editor, which comes when it is needed. */

import { signal } from "@preact/signals";
import { useSignalEffect } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";

import type { Tables } from "../engine/engine";
import { error, text } from "../scenario/document";
import { engine } from "../state";
import type { Editor } from "./editor";
import "./editor.css";

const loaded = signal<Editor | null>(null);

export function ScenarioText() {
  const host = useRef<HTMLDivElement>(null);
  useEffect(() => {
    let tables: Tables | null = null;
    let isWanted = true;
    void engine.value.tables().then((found) => (tables = found));
    void import("./editor").then(({ Editor }) => {
      if (!isWanted || !host.current) return;
      loaded.value = new Editor(host.current, {
        text: text.value,
        tables: () => tables,
        changed: (now) => (text.value = now),
      });
    });
    return () => {
      isWanted = false;
      loaded.value?.destroy();
      loaded.value = null;
    };
  }, []);
  useSignalEffect(() => loaded.value?.take(text.value));
  useSignalEffect(() => loaded.value?.mark(error.value));
  return (
    <section class="scenario-text" aria-label="Scenario file">
      <h2>The file</h2>
      <div ref={host} class="editor-host" />
      <pre class="on-paper">{text}</pre>
    </section>
  );
}
