import { printable } from "./terminal.ts";

/** Rows under a heading, in plain columns as wide as their widest cell. Cells are made printable. */
export function columns(heading: string[], rows: string[][]): string {
  const table = [heading, ...rows.map((row) => row.map(printable))];
  const widths = heading.map((_, column) => Math.max(...table.map((row) => (row[column] ?? "").length)));
  return table
    .map((row) =>
      row
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join("  ")
        .trimEnd(),
    )
    .join("\n");
}

/** One fact a line: its name, then its value. Facts without a value are left out. */
export function facts(entries: [string, string | number | null | undefined][]): string {
  const told = entries.filter(([, value]) => value !== undefined && value !== null && value !== "");
  const width = Math.max(0, ...told.map(([name]) => name.length));
  return told.map(([name, value]) => `${`${name}:`.padEnd(width + 2)}${printable(String(value))}`).join("\n");
}
