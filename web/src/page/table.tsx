/** Tables of a page, as report/table.html.j2 prints them. */

import { Fragment } from "preact";

import type { Cell, Column, Group, Table } from "./model";

const SYMBOLS: Record<string, string> = { pass: "✓ ", fail: "✗ ", "not-run": "– ", "report-only": "· ", contradicted: "≠ " };
const NOTHING = "–";

/** Numbers of the figures of a page, by run. */
export type Numbers = ReadonlyMap<string, number>;

/** Two decimals, one from 100 on; a true minus sign, and no sign for what rounds to nothing. */
export function shown(value: number | null | undefined, signed = false): string {
  if (value == null) return NOTHING;
  const text = value.toFixed(Math.abs(value) >= 100 ? 1 : 2);
  if (Number(text) === 0) return text.replace("-", "");
  return (signed && value > 0 ? "+" : "") + text.replace("-", "−");
}

function short(side: string): string {
  return side === "measured" ? "meas." : side;
}

function Text({ cell, to = "" }: { cell: Cell; to?: string }) {
  const { text = "", mark = "", section = "" } = cell;
  const links = Object.entries(cell.links ?? {});
  return (
    <>
      {to || section ? <a href={`#${to || section}`}>{text}</a> : mark ? <span class={mark}>{(SYMBOLS[mark] ?? "") + text}</span> : text}
      {links.map(([label, address], n) => (
        <Fragment key={label}>{n > 0 && " - "}<a href={address}>{label}</a></Fragment>
      ))}
      {cell.note && <><br /><span class="soft">{cell.note}</span></>}
    </>
  );
}

function Data({ column, cell, sides }: { column: Column; cell: Cell | null; sides: boolean }) {
  const { kind = "number", main = false } = column;
  if (kind === "number" || kind === "change") {
    const diff = cell?.a == null || cell.b == null ? null : cell.a - cell.b;
    return (
      <>
        <td class={main ? "a" : undefined}>{cell && shown(cell.a, kind === "change")}</td>
        {sides && <td>{cell && shown(cell.b)}</td>}
        {sides && <td class={cell?.mark || undefined}>{cell && shown(diff, true)}</td>}
      </>
    );
  }
  if (kind === "name") return <th scope="row"><Text cell={cell ?? {}} /></th>;
  return <td class={kind + (main ? " a" : "")} title={cell?.hint || undefined}><Text cell={cell ?? {}} /></td>;
}

function Rows({ table, group, span, numbers }: { table: Table; group: Group; span: number; numbers: Numbers }) {
  const head = group.head ?? [], sides = Boolean(table.sides), number = numbers.get(group.run ?? "");
  const rows: (Group["rows"][number] | null)[] = group.rows.length ? group.rows : [null];
  return (
    <tbody data-run={group.run || undefined}>
      {rows.map((row, at) => (
        <tr key={at}>
          {at === 0 && head.map((cell, n) =>
            n === 0
              ? <th key={n} scope="rowgroup" rowSpan={rows.length}><Text cell={cell} to={number ? `run-${number}` : ""} /></th>
              : <td key={n} class={table.columns[n]!.kind ?? "number"} rowSpan={rows.length}><Text cell={cell} /></td>)}
          {row === null
            ? <td class="text" colSpan={span - head.length}>{group.note}</td>
            : row.map((cell, n) => <Data key={n} column={table.columns[n + head.length]!} cell={cell} sides={sides} />)}
        </tr>
      ))}
    </tbody>
  );
}

function Heading({ column, sides, numbers }: { column: Column; sides: boolean; numbers: Numbers }) {
  const { kind = "number", main = false, run = "" } = column, number = numbers.get(run);
  const text = number ? <a href={`#run-${number}`}>{column.heading}</a> : column.heading;
  if (sides && kind === "number") return <th scope="colgroup" colSpan={3} class="a">{text}</th>;
  return <th scope="col" class={kind + (main ? " a" : "")} rowSpan={sides ? 2 : undefined}>{text}</th>;
}

function Caption({ table: { caption, sides } }: { table: Table }) {
  if (!caption) return null;
  const what = sides ? `${capital(sides[0])}, ${sides[1]}, difference (${sides[0]} minus ${sides[1]}). ` : "";
  return <caption><span>{what + caption}</span></caption>;
}

export function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

function Key({ side }: { side: string }) {
  return (
    <p class="soft key">
      Difference: <span class="over">{side} higher</span> <span class="over far"><b>much higher</b></span>{" "}
      <span class="under">{side} lower</span> <span class="under far"><b>much lower</b></span>. Shaded from 2 and 5 % of the link
      ceiling for goodput, from 5 and 15 % of the other side's value for delays, from 15 and 50 % for the ratio.
    </p>
  );
}

export function TableView({ table, label, numbers }: { table: Table; label: string; numbers: Numbers }) {
  const { columns, sides } = table, named = sides ? [short(sides[0]), short(sides[1])] : [];
  const isNumber = ({ kind = "number" }: Column): boolean => kind === "number";
  const span = columns.reduce((sum, column) => sum + (sides && isNumber(column) ? 3 : 1), 0);
  return (
    <>
      <div class="box" tabIndex={0} role="region" aria-label={label}>
        <table class={table.id}>
          <Caption table={table} />
          <thead>
            <tr>{columns.map((column, n) => <Heading key={n} column={column} sides={Boolean(sides)} numbers={numbers} />)}</tr>
            {sides && (
              <tr>
                {columns.filter(isNumber).map((_, n) => (
                  <Fragment key={n}><th scope="col" class="a">{named[0]}</th><th scope="col">{named[1]}</th><th scope="col">diff.</th></Fragment>
                ))}
              </tr>
            )}
          </thead>
          {table.groups.map((group, n) => <Rows key={n} table={table} group={group} span={span} numbers={numbers} />)}
        </table>
      </div>
      {sides && <Key side={short(sides[0])} />}
    </>
  );
}
