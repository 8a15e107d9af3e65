import { useState } from 'react';
import { Badge } from '../ui/badge';
import { useDocument } from './context';
import type { ApiDocument, Schema } from './document';
import { Inline } from './prose';

/** The fields of a schema. What is nested opens on demand. */
export function SchemaView({ schema: given, label }: { readonly schema: Schema; readonly label: string }) {
  const document = useDocument();
  const { schema } = document.schema(given);
  const alternatives = alternativesOf(schema);
  if (alternatives.length > 0) {
    return (
      <div className="flex flex-col gap-2">
        <p className="text-sm text-muted">One of:</p>
        {alternatives.map((each, at) => {
          const title = titleOf(document, each, at);
          return <Nested key={title} title={title} schema={each} label={`${label} ${title}`} />;
        })}
      </div>
    );
  }
  const fields = fieldsOf(document, schema);
  if (fields.length === 0) {
    return (
      <p className="text-sm">
        <Type schema={given} /> {schema.description !== undefined && <Inline text={schema.description} />}
      </p>
    );
  }
  return (
    <ul className="divide-y divide-line rounded-md border border-line bg-surface" aria-label={label}>
      {fields.map(([name, field, required]) => (
        <li key={name} className="flex flex-col gap-1 px-3 py-2">
          <FieldLine name={name} schema={field} required={required} />
          {inside(document, field) !== undefined && (
            <Nested
              title={`Fields of ${name}`}
              // The envelope of an answer says little; what it holds is what one looks for.
              isOpen={name === 'data'}
              schema={inside(document, field) ?? field}
              label={`${label} ${name}`}
            />
          )}
        </li>
      ))}
    </ul>
  );
}

function FieldLine({
  name,
  schema: given,
  required,
}: {
  readonly name: string;
  readonly schema: Schema;
  readonly required: boolean;
}) {
  const { schema } = useDocument().schema(given);
  const limits = limitsOf(schema);
  return (
    <>
      <div className="flex flex-wrap items-baseline gap-x-2 gap-y-1">
        <code className="font-mono text-sm font-semibold wrap-anywhere">{name}</code>
        <Type schema={given} />
        {required && <Badge tone="warn">required</Badge>}
      </div>
      {schema.description !== undefined && (
        <p className="text-sm text-muted wrap-anywhere">
          <Inline text={schema.description} />
        </p>
      )}
      {limits !== '' && <p className="text-xs text-muted wrap-anywhere">{limits}</p>}
    </>
  );
}

function Nested({
  title,
  schema,
  label,
  isOpen = false,
}: {
  readonly title: string;
  readonly schema: Schema;
  readonly label: string;
  readonly isOpen?: boolean;
}) {
  const [open, setOpen] = useState(isOpen);
  return (
    <details open={open} className="text-sm" onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary className="w-fit rounded text-accent">{title}</summary>
      {open && (
        <div className="mt-1.5">
          <SchemaView schema={schema} label={label} />
        </div>
      )}
    </details>
  );
}

function Type({ schema }: { readonly schema: Schema }) {
  return <span className="font-mono text-xs text-muted wrap-anywhere">{typeOf(useDocument(), schema)}</span>;
}

export function typeOf(document: ApiDocument, given: Schema): string {
  const { name, schema } = document.schema(given);
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (schema.enum !== undefined && name === undefined) {
    const shown = schema.enum.slice(0, 12).map((value) => JSON.stringify(value));
    return shown.join(' | ') + (schema.enum.length > shown.length ? ' | …' : '');
  }
  if (name !== undefined) return name;
  if (schema.type === 'array')
    return `list of ${schema.items === undefined ? 'any' : typeOf(document, schema.items)}`;
  const choices = schema.oneOf ?? schema.anyOf;
  if (choices !== undefined) return choices.map((each) => typeOf(document, each)).join(' | ');
  const type = Array.isArray(schema.type) ? schema.type.join(' | ') : (schema.type ?? 'any');
  return schema.format === undefined ? String(type) : `${String(type)} (${schema.format})`;
}

/** Alternatives that are worth telling apart: not a value or null. */
function alternativesOf({ oneOf, anyOf, type }: Schema): readonly Schema[] {
  const choices = type === undefined ? (oneOf ?? anyOf ?? []) : [];
  return choices.filter((choice) => choice.type !== 'null').length > 1 ? choices : [];
}

function titleOf(document: ApiDocument, given: Schema, at: number): string {
  const { name, schema } = document.schema(given);
  if (name !== undefined) return name;
  const constant = Object.entries(schema.properties ?? {}).find(([, field]) => field.const !== undefined);
  if (constant !== undefined) return `${constant[0]}: ${String(constant[1].const)}`;
  const type = typeOf(document, given);
  return type === 'object' ? `Form ${at + 1}` : type;
}

function fieldsOf(
  document: ApiDocument,
  schema: Schema,
): readonly (readonly [name: string, field: Schema, required: boolean])[] {
  const own = Object.entries(schema.properties ?? {}).map(
    ([name, field]) => [name, field, schema.required?.includes(name) ?? false] as const,
  );
  const parts = (schema.allOf ?? []).flatMap((part) => fieldsOf(document, document.schema(part).schema));
  const merged = new Map([...parts, ...own].map((field) => [field[0], field] as const));
  // A later part of `allOf` narrows what an earlier one requires.
  for (const [name, , required] of parts) {
    const last = merged.get(name);
    if (required && last !== undefined) merged.set(name, [name, last[1], true]);
  }
  return [...merged.values()];
}

/** The schema whose fields a field has inside, through lists, maps and null. */
function inside(document: ApiDocument, given: Schema): Schema | undefined {
  const { schema } = document.schema(given);
  if (schema.properties !== undefined || schema.allOf !== undefined) return given;
  if (schema.items !== undefined) return inside(document, schema.items);
  if (typeof schema.additionalProperties === 'object') return inside(document, schema.additionalProperties);
  if (alternativesOf(schema).some((each) => inside(document, each) !== undefined)) return given;
  const [only, ...others] = (schema.oneOf ?? schema.anyOf ?? []).filter(({ type }) => type !== 'null');
  return only !== undefined && others.length === 0 ? inside(document, only) : undefined;
}

function limitsOf(schema: Schema): string {
  const { minLength, maxLength, minimum, maximum, minItems, maxItems, pattern } = schema;
  const between = (least: number | undefined, most: number | undefined, what: string): string[] => {
    if (least === undefined && most === undefined) return [];
    if (most === undefined) return [`at least ${least?.toLocaleString('en')}${what}`];
    if (least === undefined || least === 0) return [`at most ${most.toLocaleString('en')}${what}`];
    return [`${least.toLocaleString('en')} to ${most.toLocaleString('en')}${what}`];
  };
  return [
    ...between(minLength, maxLength, ' characters'),
    ...between(minimum, maximum, ''),
    ...between(minItems, maxItems, ' items'),
    ...(pattern === undefined ? [] : [`pattern ${pattern}`]),
    ...(schema.default === undefined ? [] : [`default ${JSON.stringify(schema.default)}`]),
  ].join(' · ');
}
