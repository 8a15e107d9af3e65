import { TaskLimiter } from '../../kernel/task-limiter.js';

/** Per origin; a turn makes up to 16 calls at once. */
export const placesMax = { all: 256, each: 32 };

interface Origin {
  readonly room: TaskLimiter;
  /** Running and waiting. */
  users: number;
}

/** Bounds the requests that are under way to one origin, so that the slow ones of a share leave room for the others. */
export class Places {
  readonly #origins = new Map<string, Origin>();

  /** The number of origins that have a request under way or waiting. */
  get size(): number {
    return this.#origins.size;
  }

  async use<Result>(origin: string, share: string, work: () => Promise<Result>): Promise<Result> {
    const entry = this.#origins.get(origin) ?? { room: new TaskLimiter(placesMax), users: 0 };
    this.#origins.set(origin, entry);
    entry.users += 1;
    try {
      return await entry.room.run(share, work);
    } finally {
      entry.users -= 1;
      if (entry.users === 0) this.#origins.delete(origin);
    }
  }
}
