/** Captures of a run: whether a scenario has any, and one of its bottleneck that can be added. */

import { parse } from "smol-toml";

export function hasCapture(toml: string): boolean {
  return "capture" in parse(toml);
}

/** The scenario with a capture of what leaves and what is dropped at this port, of headers alone. */
export function withCapture(toml: string, port: string): string {
  const [link, reverse] = port.split(".");
  const direction = reverse === "reverse" ? "reverse" : "forward";
  const point = `{ link = ${JSON.stringify(link)}, at = ["out", "drop"], direction = "${direction}" }`;
  return `${toml.trimEnd()}\n\n[[capture]]\nname = ${JSON.stringify(link)}\npoints = [${point}]\n`;
}
