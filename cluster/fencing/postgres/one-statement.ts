/**
 * Claim and writes as one statement, which is a transaction by itself: one message there and one back, where a
 * transaction of many statements wakes both processes with each of them. Each part refers to the claim, so that every
 * row is locked under its fence before anything is written; where a fence does not hold, the claim fails and with it
 * everything.
 */
import type { Row, Statement } from './connections.js';

/** How a statement stands as a part of a larger one. */
export interface Part {
  /** Unique among the parts of one write. */
  readonly name: string;
  /** With its parameters numbered from there on, and a condition that its writing must be under. */
  text(firstParameter: number, condition: string): string;
  /** Whether it answers rows. */
  readonly answers: boolean;
}

export interface WritingStatement extends Statement {
  /** Left out where it must be a statement of its own, as one that the others must come before. */
  readonly part?: Part;
}

/** The claim as parts: it ends with `claimed`, whose one row exists only where every fence held. */
export interface Claim {
  readonly name: string;
  readonly parts: string;
  readonly values: readonly unknown[];
}

const underClaim = '(select all_match from claimed) = 1';

export class OneStatement {
  /** By what they are made of: a few, each planned once on each connection. */
  readonly #texts = new Map<string, { readonly name: string; readonly text: string }>();

  /** Undefined where one of the statements must stand by itself. */
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

/** What each statement would have answered by itself. */
export function answersOf(
  statements: readonly WritingStatement[],
  row: Row | undefined,
): readonly (readonly Row[])[] {
  return statements.map(({ part }) => (part?.answers === true ? ((row?.[part.name] ?? []) as Row[]) : []));
}
