import { z } from 'zod';
import type { Time } from '../../../cluster/index.js';
import { invalidField, PlatformError } from '../../kernel/errors.js';
import type { TenantScope } from '../../kernel/tenant-scope.js';
import type { Sealer } from '../../infra/sealing/index.js';
import type { Store } from '../../infra/storage/index.js';
import type { Message } from '../../llm/index.js';
import { isJsonObject } from '../../http/operations/index.js';
import type { OutputItem, ResponseObject } from '../compat/index.js';
import {
  type ConversationSize,
  deleteResponse,
  insertResponse,
  readConversation,
  readResponse,
  readResponses,
  sizeOfConversation,
} from './responses.store.js';
import { placeOf } from './sealed-place.js';

/** A conversation is sent whole with each call. Within these bounds it is read and opened in a moment. */
const turnsMax = 1_000;
const bytesMax = 20 * 1024 * 1024;

const content = z.object({
  response: z.custom<ResponseObject>(isJsonObject),
  messages: z.array(z.custom<Message>(isJsonObject)),
  items: z.array(z.custom<OutputItem>(isJsonObject)),
});

/** A conversation so far. */
export interface Conversation extends ConversationSize {
  readonly previousId: string | null;
  readonly messages: readonly Message[];
}

export const noConversation: Conversation = { previousId: null, messages: [], turns: 0, bytes: 0 };

/** What one response adds to its conversation. */
export interface Addition {
  readonly id: string;
  readonly response: ResponseObject;
  readonly messages: readonly Message[];
  /** The output with its signatures. */
  readonly items: readonly OutputItem[];
}

export interface StoredResponsesParts {
  readonly store: Store;
  readonly sealer: Sealer;
  readonly time: Pick<Time, 'wallMs'>;
}

/** The tenants' stored responses: encrypted, each bound to its tenant and id. */
export class StoredResponses {
  readonly #parts: StoredResponsesParts;

  constructor(parts: StoredResponsesParts) {
    this.#parts = parts;
  }

  /** Throws the refusal if a response of the conversation is not there, or if it has grown too long. */
  async conversation(scope: TenantScope, id: string): Promise<Conversation> {
    const { store } = this.#parts;
    return store.inTenant(scope, async (tx) => {
      const size = await sizeOfConversation(tx, id);
      if (size === null) throw notStored('names no stored response');
      if (size.turns >= turnsMax) throw tooLong(`${turnsMax} responses`);
      const rows = await readConversation(tx, id);
      if (rows[0]?.previous_id !== null) throw notStored('continues a response that is no longer stored');
      const messages = rows.flatMap((row) => this.#open(scope, row.id, row.sealed).messages);
      return { previousId: id, messages, ...size };
    });
  }

  /** Throws the refusal of a request that would make the conversation too long. */
  refuseLong({ bytes }: Conversation, added: readonly Message[]): void {
    if (bytes + bytesOf(added) > bytesMax) throw tooLong(`${bytesMax} bytes`);
  }

  async keep(scope: TenantScope, before: Conversation, addition: Addition): Promise<void> {
    const { store, sealer, time } = this.#parts;
    const { id, response, messages, items } = addition;
    const sealed = sealer.seal(
      Buffer.from(JSON.stringify({ response, messages, items })),
      placeOf(scope.tenantId, id),
    );
    const row = {
      id,
      previousId: before.previousId,
      turns: before.turns + 1,
      bytes: before.bytes + bytesOf(messages),
      sealed,
      createdAt: new Date(time.wallMs()),
    };
    await store.inTenant(scope, (tx) => insertResponse(tx, row));
  }

  async read(scope: TenantScope, id: string): Promise<ResponseObject> {
    const row = await this.#parts.store.inTenant(scope, (tx) => readResponse(tx, id));
    if (row === null) throw new PlatformError('not_found');
    return this.#open(scope, id, row.sealed).response;
  }

  /** The output items of these responses, by id. */
  async items(scope: TenantScope, ids: readonly string[]): Promise<ReadonlyMap<string, OutputItem>> {
    const rows = await this.#parts.store.inTenant(scope, (tx) => readResponses(tx, ids, bytesMax));
    const items = rows.flatMap(({ id, sealed }) => this.#open(scope, id, sealed).items);
    return new Map(items.flatMap((item) => (item.id === undefined ? [] : [[item.id, item]])));
  }

  async delete(scope: TenantScope, id: string): Promise<void> {
    const isGone = await this.#parts.store.inTenant(scope, (tx) => deleteResponse(tx, id));
    if (!isGone) throw new PlatformError('not_found');
  }

  #open({ tenantId }: TenantScope, id: string, sealed: Buffer): z.output<typeof content> {
    const opened = this.#parts.sealer.open(sealed, placeOf(tenantId, id));
    return content.parse(JSON.parse(opened.toString('utf8')));
  }
}

function bytesOf(messages: readonly Message[]): number {
  return Buffer.byteLength(JSON.stringify(messages));
}

function notStored(issue: string): PlatformError {
  return invalidField('previous_response_id', issue);
}

function tooLong(limit: string): PlatformError {
  return invalidField(
    'previous_response_id',
    `continues a conversation that is longer than ${limit}. Begin another one with a summary`,
  );
}
