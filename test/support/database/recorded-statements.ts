// The statements that this process sends to PostgreSQL, with the role of their connection.
import pg from 'pg';

export interface RecordedStatement {
  readonly text: string;
  readonly role: string;
}

/** Records every distinct statement from now on. Call it before a node of this process connects. */
export function recordStatements(): () => readonly RecordedStatement[] {
  const seen = new Map<string, RecordedStatement>();
  const { prototype } = pg.Client;
  const original = prototype.query as (...args: unknown[]) => unknown;
  const recording = function (this: pg.Client, ...args: unknown[]): unknown {
    const [first] = args;
    const text = typeof first === 'string' ? first : (first as { readonly text?: unknown } | undefined)?.text;
    if (typeof text === 'string') {
      const role = roleOf(this);
      seen.set(`${role} ${text}`, { text, role });
    }
    return original.apply(this, args);
  };
  prototype.query = recording as typeof prototype.query;
  return () => [...seen.values()];
}

/** Nodes connect with `-c role=…`. */
function roleOf(client: pg.Client): string {
  const parameters: unknown = Reflect.get(client, 'connectionParameters');
  const options: unknown =
    typeof parameters === 'object' && parameters !== null ? Reflect.get(parameters, 'options') : '';
  return /role=(\w+)/.exec(String(options))?.[1] ?? 'owner';
}
