import { compile } from '@jmespath-community/jmespath';
import { LRUCache } from 'lru-cache';
import { expressionDepthMax, expressionLengthMax } from './limits.js';

/** Member names and list indexes, which lead to at most one value. */
export type Steps = readonly (string | number)[];

export type Plan =
  | { readonly kind: 'fault'; readonly failure: 'invalid' | 'too-large'; readonly fault: string }
  /** A single path: the cost is bounded by its length, whatever the document contains. */
  | { readonly kind: 'path'; readonly steps: Steps }
  /** Any other expression; it may be slow or have a large result. */
  | { readonly kind: 'evaluation' };

type Node = ReturnType<typeof compile>;

/** Each key has at most a thousand characters. */
const plansMax = 1_000;
const plans = new LRUCache<string, Plan>({ max: plansMax });

/** The plan of an expression, cached. Parsing a thousand characters takes a millisecond, so it is done in this process. */
export function planOf(text: string): Plan {
  let plan = plans.get(text);
  if (plan === undefined) {
    plan = makePlan(text);
    plans.set(text, plan);
  }
  return plan;
}

function makePlan(text: string): Plan {
  if (text.length > expressionLengthMax) {
    return { kind: 'fault', failure: 'invalid', fault: `is longer than ${expressionLengthMax} characters` };
  }
  try {
    const tree = compile(text);
    if (isDeeperThan(tree, expressionDepthMax)) {
      const fault = `is nested more than ${expressionDepthMax} levels deep`;
      return { kind: 'fault', failure: 'too-large', fault };
    }
    const steps = stepsOf(tree);
    return steps === undefined ? { kind: 'evaluation' } : { kind: 'path', steps };
  } catch (error) {
    const reason = error instanceof Error ? error.message.slice(0, 200) : 'it cannot be parsed';
    return { kind: 'fault', failure: 'invalid', fault: `is not a JMESPath expression: ${reason}` };
  }
}

function isDeeperThan(node: unknown, levels: number): boolean {
  if (typeof node !== 'object' || node === null) return false;
  if (Array.isArray(node)) return node.some((child) => isDeeperThan(child, levels));
  // A literal contains a value, not further expressions.
  if (!('type' in node) || node.type === 'Literal') return false;
  if (levels === 0) return true;
  return Object.values(node).some((child) => isDeeperThan(child, levels - 1));
}

/** Undefined if the expression is more than a path. */
function stepsOf(node: Node): Steps | undefined {
  switch (node.type) {
    case 'Identity':
    case 'Current':
      return [];
    case 'Field':
      return [node.name];
    case 'Index':
      return [node.value];
    case 'Subexpression':
    case 'IndexExpression': {
      const left = stepsOf(node.left);
      const right = left === undefined ? undefined : stepsOf(node.right);
      return left === undefined || right === undefined ? undefined : [...left, ...right];
    }
    default:
      return undefined;
  }
}

/** As in JMESPath: null if the path leads nowhere; negative indexes count from the end. */
export function follow(steps: Steps, document: unknown): unknown {
  let value = document ?? null;
  for (const step of steps) {
    if (typeof value !== 'object' || value === null) return null;
    if (typeof step === 'number') {
      value = Array.isArray(value) ? ((value.at(step) as unknown) ?? null) : null;
    } else {
      value = Array.isArray(value) || !Object.hasOwn(value, step) ? null : (Reflect.get(value, step) ?? null);
    }
  }
  return value;
}
