import { registerFunction, TreeInterpreter } from '@jmespath-community/jmespath';
import { countMax, textCharsMax } from './limits.js';

/** A function was asked for more than it may give. */
export class LimitError extends Error {
  override readonly name = 'LimitError';
}

type Guard = (args: readonly unknown[]) => void;

/** A few characters can ask these for hundreds of megabytes at once, which ends the process where it does not fit. */
const guards: Readonly<Record<string, Guard>> = {
  pad_left: ([, width]) => atMost('the width of pad_left', width, countMax),
  pad_right: ([, width]) => atMost('the width of pad_right', width, countMax),
  replace: ([subject, search, by, count]) => {
    if (typeof subject !== 'string' || typeof search !== 'string' || typeof by !== 'string') return;
    atMost('the count of replace', count, countMax);
    // With a count, what was put in may be found and replaced again.
    const times = typeof count === 'number' ? count : subject.split(search).length - 1;
    const growth = times * Math.max(0, by.length - search.length);
    atMost('the length of what replace gives', subject.length + growth, textCharsMax);
  },
  join: ([glue, list]) => {
    if (typeof glue !== 'string' || !Array.isArray(list)) return;
    const texts = list.reduce<number>(
      (sum, item) => sum + (typeof item === 'string' ? item.length : 0),
      glue.length * list.length,
    );
    atMost('the length of what join gives', texts, textCharsMax);
  },
};

/** From then on the functions of this process keep to their limits. */
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

function atMost(what: string, value: unknown, most: number): void {
  if (typeof value === 'number' && value > most) {
    throw new LimitError(`${what} is ${value}, more than ${most}`);
  }
}
