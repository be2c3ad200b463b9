/** A queue, shaper, controller or application: which one, and each of its parameters. */

import type { Entry, Parameter } from "../engine/engine";
import { edit } from "../scenario/document";
import type { Field } from "./fields";
import { alternatives, isFlag, nameOf, settingOf, withSetting } from "./spec";

export function AlgorithmField({ field, entries }: { field: Field; entries: readonly Entry[] }) {
  const { key, label, help, own, value } = field;
  const name = nameOf(own ?? value);
  const entry = entries.find((one) => one.name === name);
  const choose = (event: Event): void => void edit(key, (event.currentTarget as HTMLSelectElement).value || null);
  return (
    <div class={own === null ? "field wide" : "field wide own"}>
      <label for={`field-${key}`}>{label}</label>
      <select id={`field-${key}`} aria-describedby={`field-${key}-help`} value={name} onChange={choose}>
        {entry === undefined && <option value={name}>{name || "default"}</option>}
        {entries.map((one) => <option key={one.name} value={one.name}>{one.name}</option>)}
      </select>
      <p id={`field-${key}-help`} class="soft">{entry ? `${entry.summary.replace(/\.$/, "")}. Source: ${entry.reference}.` : help}</p>
      {entry && entry.parameters.length > 0 && (
        <details class="more parameters">
          <summary>{entry.parameters.length} parameters of {name}</summary>
          {entry.parameters.map((parameter) => (
            <ParameterRow key={parameter.name} of={key} spec={own ?? name} entry={entry} parameter={parameter} />
          ))}
        </details>
      )}
    </div>
  );
}

type ParameterProps = { of: string; spec: string; entry: Entry; parameter: Parameter };

function ParameterRow({ of, spec, entry, parameter }: ParameterProps) {
  const { name, value, doc } = parameter;
  const own = settingOf(spec, entry, parameter);
  const id = `field-${of}-${name}`;
  const set = (event: Event): void => {
    const text = (event.currentTarget as HTMLInputElement | HTMLSelectElement).value.trim();
    if (text !== (own ?? "")) void edit(of, withSetting(spec, entry, parameter, text || null));
  };
  const words = alternatives(parameter);
  const usual = parameter.default;
  return (
    <div class={own === null ? "field" : "field own"}>
      <label for={id}>{isFlag(parameter) ? name.replaceAll("|", " | ") : name}</label>
      {words.length > 0 ? (
        <select id={id} aria-describedby={`${id}-help`} value={own ?? ""} onChange={set}>
          <option value="">{usual} (default)</option>
          {words.map((word) => <option key={word} value={word}>{word}</option>)}
        </select>
      ) : (
        <input id={id} type="text" aria-describedby={`${id}-help`} spellcheck={false} value={own ?? ""} placeholder={`${usual}  (${value})`} onChange={set} />
      )}
      <p id={`${id}-help`} class="soft">{doc}</p>
    </div>
  );
}
