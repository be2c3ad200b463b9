/** A view whose code comes when it is first shown. */

import { signal } from "@preact/signals";
import type { ComponentType } from "preact";

export function later<Props extends object>(load: () => Promise<ComponentType<Props>>): ComponentType<Props> {
  const loaded = signal<ComponentType<Props> | null>(null);
  let isAsked = false;
  return (props: Props) => {
    if (!isAsked) {
      isAsked = true;
      void load().then((view) => (loaded.value = view));
    }
    const View = loaded.value;
    return View ? <View {...props} /> : <p class="hint" aria-busy="true">Loading</p>;
  };
}
