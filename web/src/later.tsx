/** A view whose code comes when it is first shown. */

import { signal } from "@preact/signals";
import type { ComponentType } from "preact";

export function later<Props extends object>(load: () => Promise<ComponentType<Props>>): ComponentType<Props> {
  const loaded = signal<ComponentType<Props> | null>(null);
  const failed = signal(false);
  let isAsked = false;
  const ask = () => {
    isAsked = true;
    failed.value = false;
    load().then(
      (view) => (loaded.value = view),
      () => (failed.value = true),
    );
  };
  return (props: Props) => {
    if (!isAsked) ask();
    const View = loaded.value;
    if (View) return <View {...props} />;
    if (!failed.value) return <p class="hint" aria-busy="true">Loading</p>;
    return (
      <p class="warning" role="alert">
        This part of the page could not be loaded.{" "}
        <button type="button" class="link" onClick={ask}>
          Try again
        </button>
      </p>
    );
  };
}
