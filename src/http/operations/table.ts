import { actionOf, type AuditTrail, mayWriteEntries } from './audit-rule.js';
import { audited } from './audited.js';
import type { IdempotentRequests } from './idempotency.js';
import { idempotent } from './idempotent.js';
import type { Method, Operation } from './operation.js';

/**
 * Every operation of the product. The router, the documents, the MCP tools and the tests are derived from this table,
 * the only list of operations.
 */
export class OperationTable {
  readonly operations: readonly Operation[];

  /** Without a trail the operations leave no entries, and without requests every repeat is a new request: for clients and tests that only need the list. */
  constructor(operations: readonly Operation[], trail?: AuditTrail, requests?: IdempotentRequests) {
    const names = new Set<string>();
    const addresses = new Set<string>();
    for (const { name, method, path, audit, status, idempotency } of operations) {
      if (method !== 'GET' && audit === undefined)
        throw new Error(
          `the operation ${name} (${method} ${path}) changes something and names no audit action`,
        );
      if (method === 'POST' && idempotency === undefined && (status === 201 || mayMake(audit)))
        throw new Error(
          `the operation ${name} (${method} ${path}) may make something and has no idempotency rule`,
        );
      const address = `${method} ${path.replaceAll(/:[^/]+/g, ':')}`;
      if (names.has(name)) throw new Error(`two operations have the name ${name}`);
      if (addresses.has(address)) throw new Error(`two operations handle ${address}`);
      names.add(name);
      addresses.add(address);
    }
    const recorded = trail === undefined ? operations : audited(operations, trail);
    // Outside of the entries: a repeat that is answered again leaves none.
    this.operations = requests === undefined ? recorded : idempotent(recorded, requests);
  }

  named(name: string): Operation {
    const found = this.operations.find((operation) => operation.name === name);
    if (found === undefined) throw new Error(`there is no operation ${name}`);
    return found;
  }
}

/**
 * A status does not tell whether a POST makes something: a rollback answers 200 and makes a version. Each one that leaves
 * a record in its tenant, in the audit or elsewhere, therefore says what becomes of a repeat, or why nothing has to.
 */
function mayMake(audit: Operation['audit']): boolean {
  return actionOf(audit) !== undefined || !mayWriteEntries(audit);
}

export interface Match {
  readonly operation: Operation;
  readonly params: Readonly<Record<string, string>>;
}

interface Node {
  readonly fixed: Map<string, Node>;
  parameter: Node | undefined;
  readonly operations: Map<Method, { operation: Operation; names: readonly string[] }>;
}

const noParams: Readonly<Record<string, string>> = Object.freeze({});

/** Finds the operation for a method and path. Fixed segments have priority over parameters. */
export class Router {
  readonly #root: Node = emptyNode();
  readonly #fixed = new Map<string, Node>();

  constructor(table: OperationTable) {
    for (const operation of table.operations) this.#add(operation);
  }

  #add(operation: Operation): void {
    const names: string[] = [];
    let node = this.#root;
    for (const segment of operation.path.slice(1).split('/')) {
      if (segment.startsWith(':')) {
        names.push(segment.slice(1));
        node = node.parameter ??= emptyNode();
      } else {
        let next = node.fixed.get(segment);
        if (next === undefined) node.fixed.set(segment, (next = emptyNode()));
        node = next;
      }
    }
    node.operations.set(operation.method, { operation, names });
    if (names.length === 0) this.#fixed.set(operation.path, node);
  }

  /** Returns the match; the operations of the path for other methods; or undefined for an unknown path. */
  find(method: string, path: string): Match | readonly Operation[] | undefined {
    const direct = this.#fixed.get(path);
    if (direct !== undefined) {
      const entry = direct.operations.get(method as Method);
      if (entry !== undefined) return { operation: entry.operation, params: noParams };
    }
    const values: string[] = [];
    const node = direct ?? descend(this.#root, path.slice(1).split('/'), 0, values);
    if (node === undefined) return undefined;
    const entry = node.operations.get(method as Method);
    if (entry === undefined) return [...node.operations.values()].map(({ operation }) => operation);
    const params: Record<string, string> = {};
    for (const [index, name] of entry.names.entries()) {
      const value = decode(values[index] ?? '');
      if (value === undefined) return undefined;
      params[name] = value;
    }
    return { operation: entry.operation, params };
  }
}

function emptyNode(): Node {
  return { fixed: new Map(), parameter: undefined, operations: new Map() };
}

function descend(node: Node, segments: readonly string[], index: number, values: string[]): Node | undefined {
  const segment = segments[index];
  if (segment === undefined) return node.operations.size === 0 ? undefined : node;
  const fixed = node.fixed.get(segment);
  if (fixed !== undefined) {
    const found = descend(fixed, segments, index + 1, values);
    if (found !== undefined) return found;
  }
  if (node.parameter === undefined || segment === '') return undefined;
  values[values.length] = segment;
  const found = descend(node.parameter, segments, index + 1, values);
  if (found === undefined) values.pop();
  return found;
}

function decode(value: string): string | undefined {
  try {
    // Nearly all values are ids, which contain no escapes.
    const decoded = value.includes('%') ? decodeURIComponent(value) : value;
    return decoded.includes('\0') ? undefined : decoded;
  } catch {
    // A value with a broken escape cannot name an existing resource.
    return undefined;
  }
}
