/**
 * Joins the claim and the writes into one statement, which is a transaction by itself: one message each way, where a
 * transaction of several statements wakes both processes for each. Every part refers to the claim, so each row is
 * locked under its fence before anything is written; if one fence does not match, the whole statement fails.
 */
import type { Row, Statement } from './connections.js';

/** A statement's form as a part of a larger statement. */
export interface Part {
  /** Unique among the parts of one write. */
  readonly name: string;
  /** The SQL, with parameters numbered from `firstParameter`. Its write must be conditional on `condition`. */
  text(firstParameter: number, condition: string): string;
  /** Whether it returns rows. */
  readonly answers: boolean;
}

export interface WritingStatement extends Statement {
  /** Omitted if it must be a statement of its own, for example one that must run after the others. */
  readonly part?: Part;
}

/** The claim as common table expressions. The last is `claimed`; its row exists only if every fence matched. */
export interface Claim {
  readonly name: string;
  readonly parts: string;
  readonly values: readonly unknown[];
}

const underClaim = '(select all_match from claimed) = 1';

export class OneStatement {
  /** Cached by the names of the parts: a few texts, each planned once per connection. */
  readonly #texts = new Map<string, { readonly name: string; readonly text: string }>();

  /** Undefined if one of the statements must run separately. */
  of(claim: Claim, statements: readonly WritingStatement[]): Statement | undefined {
    const parts: PlacedPart[] = [];
    const values = [...claim.values];
    for (const { part, values: given } of statements) {
      if (part === undefined) return undefined;
      parts.push({ part, firstParameter: values.length + 1 });
      for (const value of given) values.push(value);
    }
    const key = [claim.name, ...parts.map(({ part }) => part.name)].join(' ');
    let made = this.#texts.get(key);
    if (made === undefined) {
      made = { name: `${claim.name}_${this.#texts.size + 1}`, text: textOf(claim, parts) };
      this.#texts.set(key, made);
    }
    return { ...made, values };
  }
}

interface PlacedPart {
  readonly part: Part;
  readonly firstParameter: number;
}

function textOf(claim: Claim, parts: readonly PlacedPart[]): string {
  const relations = parts.map(
    ({ part, firstParameter }) => `${part.name} as (${part.text(firstParameter, underClaim)})`,
  );
  const answers = parts.flatMap(({ part: { name, answers: isAnswered } }) =>
    isAnswered ? [`(select json_agg(${name}) from ${name}) as ${name}`] : [],
  );
  return `with ${[claim.parts, ...relations].join(',\n')}
    select ${['(select all_match from claimed) as all_match', ...answers].join(', ')}`;
}

/** The rows that each statement would have returned by itself. */
export function answersOf(
  statements: readonly WritingStatement[],
  row: Row | undefined,
): readonly (readonly Row[])[] {
  return statements.map(({ part }) => (part?.answers === true ? ((row?.[part.name] ?? []) as Row[]) : []));
}
