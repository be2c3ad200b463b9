/** What of a run can be downloaded, each under its name. */

import type { Output } from "../engine/engine";
import { Palette } from "../run/looks";
import { panels } from "../run/panels";
import { Recording } from "../run/recording";
import { light } from "../run/theme";
import type { RunRecord } from "../runs";
import { fileName } from "../scenario/carry";
import { engine } from "../state";
import { csv } from "./csv";
import { parquet } from "./parquet";
import { png, save } from "./save";
import { svg } from "./svg";

export type File = { readonly kind: string; readonly says: string; readonly save: () => void | Promise<void> };

export function files(run: RunRecord, output: Output): File[] {
  const scenario = fileName(run.toml);
  const stem = scenario.replace(/\.toml$/, "");
  const picture = (): string => drawn(run.label, output);
  const put = (extension: string, parts: BlobPart[], type: string): void => save(`${stem}.${extension}`, parts, type);
  return [
    { kind: "TOML", says: "the scenario, every default written out", save: () => save(scenario, [run.toml], "application/toml") },
    { kind: "PNG", says: "the curves as a picture", save: async () => put("png", [await png(picture())], "image/png") },
    { kind: "SVG", says: "the curves as a drawing", save: () => put("svg", [picture()], "image/svg+xml") },
    { kind: "CSV", says: "all series: series, unit, t_s, value", save: () => put("csv", csv(output.series), "text/csv") },
    {
      kind: "Parquet",
      says: "the same, as series.parquet of a run folder",
      save: () => put("parquet", [parquet(output.series)], "application/vnd.apache.parquet"),
    },
    {
      kind: "JSON",
      says: "summary.json and queue.json of the run, as one object",
      save: () => put("json", [JSON.stringify({ summary: output.summary, queues: output.queues }, null, 1)], "application/json"),
    },
    {
      kind: "tc script",
      says: "builds the path on Linux; it says itself what a kernel cannot do",
      save: async () => put("sh", [(await engine.value.tc(run.toml)).script], "text/x-shellscript"),
    },
    ...output.captures.map(({ name, bytes }) => ({
      kind: name,
      says: `capture, ${size(bytes.length)}`,
      save: () => save(`${stem}-${name}`, [bytes as BlobPart], "application/x-pcapng"),
    })),
  ];
}

function drawn(label: string, { series, summary }: Output): string {
  const palette = new Palette();
  const parts = panels(Recording.of(series), summary.duration_s).map(({ title, unit, curves, ofQueues, fromZero }) => ({
    title, unit, fromZero, lines: palette.lines(curves, ofQueues),
  })); // prettier-ignore
  return svg(label, parts, [0, summary.duration_s], light());
}

function size(bytes: number): string {
  return bytes < 1e6 ? `${(bytes / 1e3).toFixed(0)} kB` : `${(bytes / 1e6).toFixed(1)} MB`;
}
