/** Buttons of which one is pressed: what is shown below them. */

import type { Signal } from "@preact/signals";

export type TabsProps<Name extends string> = {
  label: string;
  tabs: readonly (readonly [Name, string])[];
  chosen: Signal<Name>;
};

export function Tabs<Name extends string>({ label, tabs, chosen }: TabsProps<Name>) {
  return (
    <div class="tabs" role="group" aria-label={label}>
      {tabs.map(([name, title]) => (
        <button key={name} type="button" aria-pressed={chosen.value === name} onClick={() => (chosen.value = name)}>
          {title}
        </button>
      ))}
    </div>
  );
}
