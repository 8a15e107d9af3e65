import { registerFunction, TreeInterpreter } from '@jmespath-community/jmespath';
import { countMax, textCharsMax } from './limits.js';

/** A function was asked for more than its limit. */
export class LimitError extends Error {
  override readonly name = 'LimitError';
}

type Guard = (args: readonly unknown[]) => void;

/** A few characters can make these allocate hundreds of megabytes at once, which can end the process. */
const guards: Readonly<Record<string, Guard>> = {
  pad_left: ([, width]) => atMost('the width of pad_left', width, countMax),
  pad_right: ([, width]) => atMost('the width of pad_right', width, countMax),
  replace: ([subject, search, by, count]) => {
    if (typeof subject !== 'string' || typeof search !== 'string' || typeof by !== 'string') return;
    atMost('the count of replace', count, countMax);
    // With a count, inserted text may be found and replaced again.
    const times = typeof count === 'number' ? count : subject.split(search).length - 1;
    const growth = times * Math.max(0, by.length - search.length);
    atMost('the length of the result of replace', subject.length + growth, textCharsMax);
  },
  join: ([glue, list]) => {
    if (typeof glue !== 'string' || !Array.isArray(list)) return;
    const texts = list.reduce<number>(
      (sum, item) => sum + (typeof item === 'string' ? item.length : 0),
      glue.length * list.length,
    );
    atMost('the length of the result of join', texts, textCharsMax);
  },
};

/** Limits the functions for the rest of the process. */
export function limitFunctions(): void {
  const table = TreeInterpreter.runtime._functionTable;
  for (const [name, guard] of Object.entries(guards)) {
    const known = table[name];
    if (known === undefined) throw new TypeError(`the package for expressions has no function ${name}`);
    const { _func: original, _signature: signature } = known;
    const limited: typeof original = (args) => {
      guard(args);
      return original(args);
    };
    registerFunction(name, limited, signature, { override: true });
  }
}

function atMost(name: string, value: unknown, most: number): void {
  if (typeof value === 'number' && value > most) {
    throw new LimitError(`${name} is ${value}, more than ${most}`);
  }
}
