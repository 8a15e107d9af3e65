import type { ReactNode } from 'react';
import type { Pairs } from '../pairs-field';
import { recordOf } from '../pairs-field';
import { UnreadableJson } from '../unreadable-json';

/** What a form holds while it is written: texts of inputs, marks of checkboxes, rows of pairs, values of JSON. */
export type Raws = Readonly<Record<string, unknown>>;

interface Common {
  readonly label: string;
  /** What to write, or what follows from it. */
  readonly hint?: ReactNode | ((raws: Raws) => ReactNode);
  /** The name in requests, where it differs: the API names the field so when it refuses the value. */
  readonly api?: string;
  readonly required?: boolean;
  readonly placeholder?: string;
  /** Two of these share a row. */
  readonly half?: boolean;
  /** A field that is not shown has no value. */
  readonly shown?: (raws: Raws) => boolean;
}

export type FieldSpec = Common &
  (
    | {
        readonly kind: 'text';
        readonly type?: 'text' | 'email' | 'password' | 'url' | 'date';
        readonly autoComplete?: string;
        readonly minLength?: number;
        readonly maxLength?: number;
        readonly suggestions?: readonly string[];
        /** What must be written, to confirm. */
        readonly equals?: string;
      }
    | { readonly kind: 'area'; readonly maxLength?: number; readonly rows?: number }
    | { readonly kind: 'number'; readonly min?: number; readonly max?: number; readonly whole?: boolean }
    /** Entries that commas or spaces separate. */
    | { readonly kind: 'list' }
    | { readonly kind: 'choice'; readonly options: readonly (readonly [value: string, text: string])[] }
    | { readonly kind: 'check' }
    | { readonly kind: 'pairs'; readonly names?: string; readonly values?: string }
    | { readonly kind: 'json' }
  );

/** The declaration of a form: its fields by name, in the order in which they are shown. */
export type FieldSpecs = Readonly<Record<string, FieldSpec>>;

type WrittenOf<Spec extends FieldSpec> = Spec extends { readonly kind: 'check' }
  ? boolean
  : Spec extends { readonly kind: 'number' }
    ? number | undefined
    : Spec extends { readonly kind: 'list' }
      ? string[] | undefined
      : Spec extends { readonly kind: 'pairs' }
        ? Record<string, string> | undefined
        : Spec extends { readonly kind: 'json' }
          ? unknown
          : Spec extends {
                readonly kind: 'choice';
                readonly options: readonly (readonly [infer V, string])[];
              }
            ? V
            : string;

/** What a submitted form hands on. */
export type ValuesOf<Specs extends FieldSpecs> = {
  readonly [Name in keyof Specs]: Specs[Name] extends { readonly shown: unknown }
    ? WrittenOf<Specs[Name]> | undefined
    : WrittenOf<Specs[Name]>;
};

export const isShown = ({ shown }: FieldSpec, raws: Raws): boolean => shown?.(raws) ?? true;

/** What stands in a field that nobody has written in. */
export function emptyOf(spec: FieldSpec): unknown {
  if (spec.kind === 'check') return false;
  if (spec.kind === 'pairs') return [];
  if (spec.kind === 'json') return undefined;
  return spec.kind === 'choice' ? (spec.options[0]?.[0] ?? '') : '';
}

/** A value as its input shows it. */
export function rawOf(spec: FieldSpec, value: unknown): unknown {
  if (value === undefined || value === null) return emptyOf(spec);
  if (spec.kind === 'list' && Array.isArray(value)) return value.join(', ');
  return typeof value === 'number' ? String(value) : value;
}

const textOf = (raw: unknown): string => (typeof raw === 'string' ? raw : '');

export function listOf(text: string): string[] | undefined {
  const entries = text.split(/[\s,]+/).filter(Boolean);
  return entries.length === 0 ? undefined : entries;
}

function valueOf(spec: FieldSpec, raw: unknown): unknown {
  if (spec.kind === 'number') return textOf(raw).trim() === '' ? undefined : Number(raw);
  if (spec.kind === 'list') return listOf(textOf(raw));
  return spec.kind === 'pairs' ? recordOf(raw as Pairs) : raw;
}

export function valuesOf<Specs extends FieldSpecs>(specs: Specs, raws: Raws): ValuesOf<Specs> {
  const entries = Object.entries(specs).map(([name, spec]) => [
    name,
    isShown(spec, raws) ? valueOf(spec, raws[name]) : undefined,
  ]);
  return Object.fromEntries(entries) as ValuesOf<Specs>;
}

/** What is wrong with what was written, as far as it can be said without the server. */
export function problemIn(spec: FieldSpec, raw: unknown): string | undefined {
  const text = textOf(raw);
  if (raw instanceof UnreadableJson) return raw.problem('This');
  if (spec.required === true && (raw === undefined || (typeof raw === 'string' && text.trim() === '')))
    return spec.kind === 'choice' ? 'Choose one.' : 'Fill this in.';
  if (text === '') return undefined;
  if (spec.kind === 'number') return problemOfNumber(spec, Number(text));
  if (spec.kind !== 'text') return undefined;
  if (spec.type === 'email' && !/^\S+@\S+$/.test(text.trim()))
    return 'Write an address such as ada@example.com.';
  if (spec.equals !== undefined && text !== spec.equals) return `Write ${spec.equals}.`;
  if (spec.minLength !== undefined && text.length < spec.minLength)
    return `Write at least ${spec.minLength} characters.`;
  return undefined;
}

function problemOfNumber(
  { min, max, whole }: { readonly min?: number; readonly max?: number; readonly whole?: boolean },
  value: number,
): string | undefined {
  if (!Number.isFinite(value)) return 'Write a number.';
  if (whole === true && !Number.isInteger(value)) return 'Write a whole number.';
  if (min !== undefined && value < min) return `Write ${min} or more.`;
  if (max !== undefined && value > max) return `Write ${max} or less.`;
  return undefined;
}
