/** Puts the server's engine in the place of the page's own, where `sojourn serve` answers. */

import { effect } from "@preact/signals";

import { RemoteEngine } from "../engine/remote";
import { open } from "../scenario/document";
import { engine } from "../state";
import { about, chosen, client, connect } from "./state";

/** Ends when it is known whether there is a server. */
export async function join(): Promise<void> {
  if (!(await connect())) return;
  effect(() => {
    engine.value = new RemoteEngine(client.value!, chosen.value, about.value!.at_once);
  });
  const scenario = about.value!.scenario;
  if (scenario) {
    open(scenario.text, scenario.name);
    if (!location.hash) history.replaceState(history.state, "", "#lab");
  }
}
