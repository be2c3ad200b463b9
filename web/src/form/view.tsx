/** The parameters of the chosen element, with help, default and source; each change goes into the file. */

import { useEffect } from "preact/hooks";
import { computed, signal } from "@preact/signals";

import type { Tables } from "../engine/engine";
import { choose, chosen, isChosen, isOpen, type Element } from "../path/chosen";
import { edit, error, resolved, text } from "../scenario/document";
import { engine } from "../state";
import { AlgorithmField } from "./algorithm";
import { sections, type Field, type Schema, type Section } from "./fields";
import "./form.css";

const tables = signal<Tables | null>(null);

const shown = computed(() => {
  const [known, valid] = [tables.value, resolved.value];
  return known && valid ? sections(chosen.value, text.value, valid.toml, known.schema as Schema) : [];
});

export function FormView() {
  useEffect(() => {
    void engine.value.tables().then((found) => (tables.value = found));
  }, [engine.value]);
  return (
    <details class="form more" open={isOpen} onToggle={(event) => (isOpen.value = event.currentTarget.open)}>
      <summary>Parameters</summary>
      <Elements />
      {shown.value.map((section) => <Fields key={`${title(chosen.value)}/${section.title}`} section={section} />)}
    </details>
  );
}

/** The same choice as in the picture, as a list. */
function Elements() {
  const outline = resolved.value?.outline;
  const named = (kind: "link" | "flow" | "ping", rows: readonly { name: string }[] = []): Element[] =>
    rows.map(({ name }) => ({ kind, name }));
  const elements: Element[] = [
    { kind: "run" },
    ...named("link", outline?.links),
    ...named("flow", outline?.flows),
    ...named("ping", outline?.pings),
  ];
  return (
    <label class="elements">
      of
      <select onChange={(event) => choose(elements[event.currentTarget.selectedIndex] ?? { kind: "run" })}>
        {elements.map((element) => <option key={title(element)} selected={isChosen(element)}>{title(element)}</option>)}
      </select>
    </label>
  );
}

function title(element: Element): string {
  return element.kind === "run" ? "the run" : `${element.kind} ${element.name}`;
}

function Fields({ section: { title: of, fields } }: { section: Section }) {
  const rows = fields.map((field) => <FieldRow key={field.key} field={field} />);
  return of === "" ? <div class="fields">{rows}</div> : (
    <details class="more">
      <summary>{of}</summary>
      <div class="fields">{rows}</div>
    </details>
  );
}

function FieldRow({ field }: { field: Field }) {
  const { key, label, help, own, value, registry, choices } = field;
  const entries = registry && tables.value?.[registry];
  if (entries && value !== "none") return <AlgorithmField field={field} entries={entries} />;
  return (
    <div class={own === null ? "field" : "field own"}>
      <label for={`field-${key}`}>{label}</label>
      <Input id={`field-${key}`} of={key} own={own} usual={value} choices={choices} />
      <p id={`field-${key}-help`} class="soft">{help}</p>
    </div>
  );
}

/** A value of the file; empty is the default, which is shown in its place. */
function Input({ id, of, own, usual, choices }: { id: string; of: string; own: string | null; usual: string; choices: readonly string[] }) {
  const set = (event: Event): void => {
    const { value } = event.currentTarget as HTMLInputElement | HTMLSelectElement;
    if (value.trim() !== (own ?? "")) void edit(of, value.trim() === "" ? null : value.trim());
  };
  const isWrong = error.value?.key === of;
  return choices.length > 0 ? (
    <select id={id} aria-invalid={isWrong} aria-describedby={`${id}-help`} value={own ?? ""} onChange={set}>
      <option value="">{usual ? `${usual} (default)` : "default"}</option>
      {choices.map((choice) => <option key={choice} value={choice}>{choice}</option>)}
    </select>
  ) : (
    <input id={id} type="text" aria-invalid={isWrong} aria-describedby={`${id}-help`} spellcheck={false} value={own ?? ""} placeholder={usual} onChange={set} />
  );
}
