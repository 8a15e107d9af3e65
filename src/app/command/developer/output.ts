import { styleText } from 'node:util';
import type { Environment } from '../../../kernel/config/index.js';
import { table } from '../command.js';

export type Style = 'bold' | 'dim' | 'red' | 'green' | 'yellow' | 'cyan';

/** What a command prints: results to standard output, all else to standard error. */
export interface Output {
  readonly isTerminal: boolean;
  print(text: string): void;
  /** Without a line break. */
  write(text: string): void;
  note(text: string): void;
  json(value: unknown): void;
  rows(head: readonly string[], rows: readonly (readonly string[])[]): void;
  style(style: Style, text: string): string;
}

/** In colour where a person reads it: a terminal, without `NO_COLOR`; `FORCE_COLOR` decides for itself. */
export function systemOutput(environment: Environment): Output {
  const { stdout, stderr } = process;
  const forced = environment['FORCE_COLOR'] ?? '';
  const isTerminal = stdout.isTTY;
  const isColoured = forced === '' ? isTerminal && (environment['NO_COLOR'] ?? '') === '' : forced !== '0';
  return {
    isTerminal,
    print: (text) => void stdout.write(`${text}\n`),
    write: (text) => void stdout.write(text),
    note: (text) => void stderr.write(`${text}\n`),
    json: (value) => void stdout.write(`${JSON.stringify(value)}\n`),
    rows: (head, rows) => void stdout.write(`${table([head, ...rows])}\n`),
    style: (style, text) => (isColoured ? styleText(style, text) : text),
  };
}

/**
 * What others wrote, for a terminal: without the control characters that would move its cursor, change its title or
 * answer for its user.
 */
export function shown(text: string): string {
  return text.replaceAll(/\p{Cc}/gu, (control) => (control === '\n' || control === '\t' ? control : ''));
}

/** One line of at most so many characters. */
export function line(text: string | null | undefined, most = 60): string {
  const whole = shown((text ?? '').replaceAll(/\s+/g, ' ').trim());
  return whole.length <= most ? whole : `${whole.slice(0, most - 1)}…`;
}
