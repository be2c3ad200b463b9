/** A parameter by its name as of `-s`, and a value for it. */

import { useEffect, useId, useState } from "preact/hooks";

import type { Entry } from "../engine/engine";
import type { Parameter } from "../scenario/parameters";
import { engine } from "../state";

type FieldsProps = {
  offered: readonly Parameter[];
  chosen: string;
  value: string;
  /** What is before the field for the value. */
  valueLabel: string;
  placeholder?: string;
  change: (fields: { key?: string; value?: string }) => void;
};

export function ScenarioFields({ offered, chosen, value, valueLabel, placeholder, change }: FieldsProps) {
  const [keys, values] = [useId(), useId()];
  const now = offered.find(({ key }) => key === chosen)?.value;
  const names = useNames(chosen);
  return (
    <>
      <label class="field-key">
        Parameter <input type="text" list={keys} value={chosen} spellcheck={false} autocapitalize="off" autocomplete="off"
          onChange={(event) => change({ key: event.currentTarget.value.trim() })} />
      </label>
      <datalist id={keys}>{offered.map(({ key }) => <option key={key} value={key} />)}</datalist>
      {now !== undefined && <span class="field-now">is <code title={now}>{now}</code></span>}
      <label class="field-value">
        {valueLabel} <input type="text" list={values} value={value} spellcheck={false} autocapitalize="off" autocomplete="off"
          placeholder={placeholder ?? ""} onInput={(event) => change({ value: event.currentTarget.value })} />
      </label>
      <datalist id={values}>{names.map(({ name, summary }) => <option key={name} value={name}>{summary}</option>)}</datalist>
    </>
  );
}

/** What a queue or a controller can be. */
function useNames(key: string): readonly Entry[] {
  const [found, setFound] = useState<readonly Entry[]>([]);
  const kind = key.endsWith(".qdisc") ? "qdiscs" : key.endsWith(".cc") ? "controllers" : key.endsWith(".app") ? "apps" : null;
  useEffect(() => {
    let isWanted = true;
    setFound([]);
    if (kind) void engine.value.tables().then((tables) => isWanted && setFound(tables[kind]), () => undefined);
    return () => void (isWanted = false);
  }, [kind]);
  return found;
}
