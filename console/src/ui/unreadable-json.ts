import { isPlain } from './form/rebased';

/** What a JSON field expects: any value, or an object, which is empty where nothing is written. */
export type JsonKind = 'any' | 'object';

const expected = { any: 'valid JSON', object: 'a JSON object' } as const;

/** Text in the place of a JSON value that cannot be read as one. Drafts hold it, and requests must not. */
export class UnreadableJson {
  // Private, so that a copy of its parts holds nothing.
  readonly #text: string;
  readonly #kind: JsonKind;

  constructor(text: string, kind: JsonKind = 'any') {
    this.#text = text;
    this.#kind = kind;
  }

  get text(): string {
    return this.#text;
  }

  problem(name: string): string {
    return `${name} is not ${expected[this.#kind]}.`;
  }

  toJSON(): string {
    return this.#text;
  }
}

export function jsonOf(text: string, kind: JsonKind = 'any'): unknown {
  if (text.trim() === '') return kind === 'object' ? {} : undefined;
  try {
    const value: unknown = JSON.parse(text);
    return kind === 'any' || isPlain(value) ? value : new UnreadableJson(text, kind);
  } catch {
    return new UnreadableJson(text);
  }
}

/** The body of a request. Throws where it holds text that is no JSON: what stands on screen would not be what is sent. */
export function readable<Body>(body: Body): Body {
  const problem = problemIn(body, 'The text');
  if (problem !== undefined) throw new Error(`${problem} Correct it and try again.`);
  return body;
}

function problemIn(value: unknown, name: string): string | undefined {
  if (value instanceof UnreadableJson) return value.problem(name);
  if (!isPlain(value)) return undefined;
  for (const [part, inner] of Object.entries(value)) {
    const problem = problemIn(inner, part);
    if (problem !== undefined) return problem;
  }
  return undefined;
}
