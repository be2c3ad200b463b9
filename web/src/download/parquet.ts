/** Series as Parquet, with the columns of a run folder's `series.parquet`. */

import { parquetWriteBuffer } from "hyparquet-writer";

import type { Series } from "../engine/engine";

export function parquet(series: readonly Series[]): ArrayBuffer {
  const rows = series.reduce((sum, { t }) => sum + t.length, 0);
  const [t, v] = [new Float64Array(rows), new Float64Array(rows)];
  const [names, units] = [new Array<string>(rows), new Array<string>(rows)];
  let at = 0;
  for (const one of series) {
    t.set(one.t, at);
    v.set(one.v, at);
    names.fill(one.name, at, at + one.t.length);
    units.fill(one.unit, at, at + one.t.length);
    at += one.t.length;
  }
  return parquetWriteBuffer({
    columnData: [
      { name: "series", data: names, type: "STRING", nullable: false },
      { name: "unit", data: units, type: "STRING", nullable: false },
      { name: "t_s", data: t, type: "DOUBLE", nullable: false },
      { name: "value", data: v, type: "DOUBLE", nullable: false },
    ],
    createdBy: "sojourn",
  });
}
