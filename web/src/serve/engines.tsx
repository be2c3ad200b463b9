/** Which engine of the server carries out the next runs. */

import type { EngineRow } from "../engine/http";
import { LABELS } from "./labels";

export type EnginesProps = {
  rows: readonly EngineRow[];
  chosen: string;
  choose: (name: string) => void;
};

export function EnginesView({ rows, chosen, choose }: EnginesProps) {
  return (
    <fieldset class="serve-engines">
      <legend>Engine of the next runs</legend>
      {rows.map(({ name, available, reason, real_time }) => (
        <label key={name} class={available ? "" : "soft"}>
          <input
            type="radio"
            name="engine"
            value={name}
            checked={name === chosen}
            disabled={!available}
            onChange={() => choose(name)}
          />{" "}
          <b>{name}</b> {LABELS[name] ?? ""}
          {available && real_time && <span class="soft"> Takes as long as the scenario.</span>}
          {!available && <span class="serve-reason">Not here: {reason}</span>}
        </label>
      ))}
    </fieldset>
  );
}
