import { type ErrorCode, invalidField, PlatformError } from '../../kernel/errors.js';
import type { BegunRequest, IdempotencyRule, IdempotentRequests, NamedRequest } from './idempotency.js';
import { answerFrom, keptFrom, keptFromError, keptStream } from './kept-answer.js';
import type { Operation, OperationRequest } from './operation.js';
import { JsonReply, StreamReply } from './reply.js';
import { requestWith } from './request-with.js';

export const idempotencyHeader = 'idempotency-key';
const printable = /^[\x21-\x7e](?:[\x20-\x7e]{0,253}[\x21-\x7e])?$/;

type Held = Extract<BegunRequest, { readonly state: 'held' }>;
type Rule = Exclude<IdempotencyRule, object>;

const refusals: Readonly<Record<Rule, readonly ErrorCode[]>> = {
  made: ['idempotency_key_reused', 'conflict'],
  ids: ['idempotency_key_reused', 'conflict', 'not_found'],
  turn: ['idempotency_key_reused', 'conflict', 'not_found'],
  answer: ['idempotency_key_reused', 'conflict'],
};

/** The operations, of which those with a rule take `Idempotency-Key`. */
export function idempotent(
  operations: readonly Operation[],
  requests: IdempotentRequests,
): readonly Operation[] {
  return operations.map((operation) => {
    const { idempotency: rule } = operation;
    if (rule === undefined || typeof rule === 'object') return operation;
    const once = new IdempotentOperation(operation, rule, readerOf(operation, operations), requests);
    return {
      ...operation,
      headers: [...operation.headers, idempotencyHeader],
      errors: [...new Set([...operation.errors, ...refusals[rule]])],
      handle: (request) => {
        const key = request.headers[idempotencyHeader] ?? '';
        if (key === '' || !('scope' in request.caller)) return operation.handle(request);
        return once.handle(request, request.caller, validKey(key));
      },
    };
  });
}

/**
 * The operation that reads what this one makes: the one thing of a list, and for a path that ends in a verb the thing
 * before it, which the verb makes another one of (`/api/agents/:id/duplicate`) or changes.
 */
function readerOf({ path: from }: Operation, operations: readonly Operation[]): Operation | undefined {
  const readers = operations.filter(({ method, path }) => method === 'GET' && /\/:[^/]+$/.test(path));
  const things = [`${from}/:`, from.slice(0, from.lastIndexOf('/'))];
  return things
    .map((thing) => readers.find(({ path }) => path === thing || path.replace(/[^:]+$/, '') === thing))
    .find((reader) => reader !== undefined);
}

export function validKey(key: string, field = 'Idempotency-Key'): string {
  if (printable.test(key)) return key;
  throw invalidField(field, 'must have at most 255 characters of printable ASCII');
}

function deleted(): PlatformError {
  return new PlatformError('not_found', {
    message:
      'What the first request with this Idempotency-Key made was deleted. Use a new key for a new request.',
  });
}

class IdempotentOperation {
  readonly #operation: Operation;
  readonly #rule: Rule;
  /** Reads what the operation makes. */
  readonly #reader: Operation | undefined;
  readonly #requests: IdempotentRequests;

  constructor(operation: Operation, rule: Rule, reader: Operation | undefined, requests: IdempotentRequests) {
    this.#operation = operation;
    this.#rule = rule;
    this.#reader = reader;
    this.#requests = requests;
  }

  async handle(request: OperationRequest, caller: NamedRequest['caller'], key: string): Promise<unknown> {
    const { params, query, body } = request;
    const begun = await this.#requests.begin({
      caller,
      operation: this.#operation.name,
      key,
      input: { params, query, body },
      leaving: request.leaving,
    });
    if (begun.state === 'answered' && begun.answer !== null) return answerFrom(begun.answer);
    // Its answer is forgotten only with what it made.
    if (begun.state === 'answered' && this.#rule === 'ids') throw deleted();
    if (this.#rule !== 'made' || (begun.state === 'held' && begun.made === null)) {
      const repeat = { seed: begun.seed, isAnswered: begun.state === 'answered' };
      const repeated = requestWith(request, { repeat });
      return begun.state === 'answered'
        ? this.#operation.handle(repeated)
        : this.#first(requestWith(repeated, { caller: { ...caller, scope: begun.scope } }), begun);
    }
    const answer = () => this.#readAgain(request, begun.made);
    if (begun.state === 'answered') return answer();
    const found = await this.#keepingRefusals(begun, answer);
    await this.#keep(begun, found);
    return found;
  }

  async #first(request: OperationRequest, held: Held): Promise<unknown> {
    const answer = await this.#keepingRefusals(held, async () => this.#operation.handle(request));
    if (this.#rule === 'turn') {
      await this.#settled(held.keep(null));
      return answer;
    }
    if (answer instanceof StreamReply) {
      return keptStream(answer, (kept) => this.#end(held, kept));
    }
    await this.#keep(held, answer);
    return answer;
  }

  async #keepingRefusals(held: Held, work: () => Promise<unknown>): Promise<unknown> {
    try {
      return await work();
    } catch (error) {
      await this.#end(held, keptFromError(error));
      throw error;
    }
  }

  #keep(held: Held, answer: unknown): Promise<void> {
    return this.#end(held, keptFrom(answer, this.#operation.status));
  }

  /** What failed may have begun its turn or made its thing all the same; the same ids let a repeat find it. */
  #end(held: Held, kept: ReturnType<typeof keptFrom>): Promise<void> {
    const keepsSeed = this.#rule === 'ids' || this.#rule === 'turn';
    return this.#settled(kept === undefined ? held.release(keepsSeed) : held.keep(kept));
  }

  /** The request has its answer in any case. Without a kept one, a repeat finds what was made. */
  #settled(write: Promise<void>): Promise<void> {
    return write.catch((error: unknown) =>
      this.#requests.report('keeping the answer of a request with an Idempotency-Key', error),
    );
  }

  async #read(reader: Operation, request: OperationRequest): Promise<unknown> {
    try {
      return await reader.handle(request);
    } catch (error) {
      if (error instanceof PlatformError && error.status < 500) return undefined;
      throw error;
    }
  }

  /** The answer to a request whose first answer is lost: what it made, as it is now. */
  async #readAgain(request: OperationRequest, made: string | null): Promise<unknown> {
    const { output, status } = this.#operation;
    const id = made?.slice(made.indexOf(':') + 1) ?? '';
    const reader = this.#reader;
    const name = reader?.path.slice(reader.path.lastIndexOf(':') + 1);
    if (reader !== undefined && name !== undefined) {
      const params = { ...(request.params as object), [name]: id };
      const found = await this.#read(reader, requestWith(request, { params, query: {}, body: undefined }));
      // Not where the first answer had a secret that is shown only once.
      if (output.safeParse(found).success) return new JsonReply(found, status);
    }
    const what = made === null ? 'was answered' : `made ${made.replace(':', ' ')}`;
    throw new PlatformError('conflict', {
      message:
        `The first request with this Idempotency-Key ${what}, but its answer cannot be given again. ` +
        'Look at what is there, and use a new key for a new request.',
      details: {
        field: 'Idempotency-Key',
        issue: 'its first answer is lost',
        ...(made === null ? {} : { made }),
      },
    });
  }
}
