import type { ReplyStream } from '../../../../cluster/index.js';

export interface ReadMessages<Value> extends AsyncIterableIterator<Value, undefined> {
  /** Resolves when the actor has begun to answer; rejects if it refuses the stream. */
  begun(): Promise<void>;
  /** Resolves when the first message is here; rejects if the stream fails before. */
  arrived(): Promise<void>;
}

/**
 * Reads the messages of a stream as values of the domain. Not a generator, which would delay `return` until its next
 * message: a reader that disconnects must be removed at once.
 */
export function readMessages<Message, Value>(
  messages: Pick<ReplyStream<Message>, 'next' | 'return' | 'onEpoch'>,
  read: (message: Message) => Value,
): ReadMessages<Value> {
  /** The next message, asked for before it is read. */
  let ahead: Promise<IteratorResult<Message, undefined>> | undefined;
  const end = async (): Promise<IteratorResult<Value, undefined>> => {
    await messages.return();
    return { done: true, value: undefined };
  };
  const first = (): Promise<unknown> => {
    ahead ??= messages.next();
    // The reader of the message gets the failure.
    ahead.catch(() => undefined);
    return ahead;
  };
  return {
    async begun() {
      await Promise.race([first(), new Promise<void>((resolve) => messages.onEpoch(() => resolve()))]);
    },
    async arrived() {
      await first();
    },
    async next() {
      const coming = ahead ?? messages.next();
      ahead = undefined;
      const result = await coming;
      if (result.done === true) return result;
      try {
        return { done: false, value: read(result.value) };
      } catch (error) {
        await end();
        throw error;
      }
    },
    return: end,
    [Symbol.asyncIterator]() {
      return this;
    },
  };
}
