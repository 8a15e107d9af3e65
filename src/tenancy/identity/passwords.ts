import { hash, hashSync, verify } from '@node-rs/argon2';
import { PlatformError } from '../../kernel/errors.js';

/**
 * Passwords hashed with argon2id. One hash costs 19 MiB and some 20 ms of a thread, so only a few run at once, a bounded
 * number waits, and the next is refused: a burst of sign-ins must not take the memory or the thread pool of the node.
 */
export interface PasswordSettings {
  readonly memoryCostKiB: number;
  readonly timeCost: number;
  readonly concurrencyMax: number;
  readonly waitingMax: number;
}

/** The first recommendation of OWASP's password storage page. 2 at a time leave threads of the pool of 4 to others. */
export const defaultPasswordSettings: PasswordSettings = {
  memoryCostKiB: 19_456,
  timeCost: 2,
  concurrencyMax: 2,
  waitingMax: 64,
};

export interface Passwords {
  hash(password: string): Promise<string>;
  /**
   * Whether the password matches the hash. Without a hash it takes as long and returns false, so that an unknown account
   * cannot be told from a wrong password. `admit` runs just before the work, when its turn has come.
   */
  verify(
    storedHash: string | null | undefined,
    password: string,
    admit?: () => Promise<void>,
  ): Promise<boolean>;
}

export function createPasswords(settings: PasswordSettings = defaultPasswordSettings): Passwords {
  // argon2id is the library's default algorithm.
  const options = {
    memoryCost: settings.memoryCostKiB,
    timeCost: settings.timeCost,
    parallelism: 1,
  };
  const inTurn = bounded(settings.concurrencyMax, settings.waitingMax);
  // Computed at the same cost as real hashes, before the first sign-in. No account has its password.
  const dummyHash = hashSync('no account has this password', options);

  return {
    hash: (password) => inTurn(() => hash(normalised(password), options)),
    verify: (storedHash, password, admit) =>
      inTurn(async () => {
        await admit?.();
        const matches = await verify(storedHash ?? dummyHash, normalised(password));
        return matches && storedHash !== null && storedHash !== undefined;
      }),
  };
}

/** The same letters may arrive composed differently from two keyboards. */
function normalised(password: string): string {
  return password.normalize('NFKC');
}

function bounded(runningMax: number, waitingMax: number): <T>(work: () => Promise<T>) => Promise<T> {
  const waiting: (() => void)[] = [];
  let running = 0;
  return async (work) => {
    if (running >= runningMax) {
      if (waiting.length >= waitingMax) {
        throw new PlatformError('service_unavailable', {
          message: 'This node checks too many passwords at once. Retry in a second.',
          retryAfterSeconds: 1,
        });
      }
      // A finished hash hands its place to the next waiter, so `running` stays as it is.
      await new Promise<void>((resolve) => void waiting.push(resolve));
    } else {
      running += 1;
    }
    try {
      return await work();
    } finally {
      const next = waiting.shift();
      if (next === undefined) running -= 1;
      else next();
    }
  };
}
