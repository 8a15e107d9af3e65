/**
 * Reads the messages of a stream as values of the domain. Not a generator, which would delay `return` until its next
 * message: a reader that disconnects must be removed at once.
 */
export function readMessages<Message, Value>(
  messages: AsyncIterableIterator<Message, undefined>,
  read: (message: Message) => Value,
  first?: IteratorResult<Message, undefined>,
): AsyncIterableIterator<Value, undefined> {
  let pending = first;
  const end = (): Promise<IteratorResult<Value, undefined>> => {
    const ended = messages.return?.() ?? Promise.resolve();
    return ended.then(() => ({ done: true, value: undefined }));
  };
  return {
    async next() {
      const result = pending ?? (await messages.next());
      pending = undefined;
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
