import type { ExportedRow } from './source.js';

export const formats = ['jsonl', 'csv'] as const;
export type Format = (typeof formats)[number];

export const contentTypes: Readonly<Record<Format, string>> = {
  jsonl: 'application/x-ndjson; charset=utf-8',
  csv: 'text/csv; charset=utf-8',
};

/** The line before the rows. */
export function headOf(format: Format, columns: readonly string[]): string {
  return format === 'csv' ? csvLine(columns) : '';
}

export function lineOf(format: Format, columns: readonly string[], row: ExportedRow): string {
  const values = columns.map((column) => row[column] ?? null);
  return format === 'csv'
    ? csvLine(values)
    : `${JSON.stringify(Object.fromEntries(columns.map((column, nth) => [column, values[nth]])))}\n`;
}

/** RFC 4180. */
function csvLine(values: readonly unknown[]): string {
  return `${values.map(cell).join(',')}\r\n`;
}

function cell(value: unknown): string {
  if (value === null) return '';
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  const text = inert(typeof value === 'string' ? value : JSON.stringify(value));
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** A spreadsheet runs a cell that begins like a formula. Some skip white space and control characters before it. */
function inert(text: string): string {
  return /^[\s\p{Cc}]*[=+\-@＝＋－＠]|^[\t\r]/u.test(text) ? `'${text}` : text;
}
