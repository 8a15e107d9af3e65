/** The images and files of messages: read and stored before a turn is accepted, and shown to models and readers. */
import type { Time } from '../../../cluster/index.js';
import { PlatformError } from '../../kernel/errors.js';
import type { TenantScope } from '../../kernel/tenant-scope.js';
import type { SealedPlace, Sealer } from '../../infra/sealing/index.js';
import type { Store } from '../../infra/storage/index.js';
import type { UserPart } from '../../llm/index.js';
import { type GivenPart, type ReadPart, type ReadParts, userPartOf } from '../../models/parts/index.js';
import type { AttachmentRef } from './attachment.js';
import {
  findAttachments,
  findShown,
  type FoundAttachment,
  insertAttachment,
  removeUnbound,
} from './attachments.store.js';

export interface AttachmentsParts {
  readonly store: Store;
  readonly sealer: Pick<Sealer, 'seal' | 'open'>;
  readonly readParts: ReadParts;
  readonly time: Time;
  readonly newId: () => string;
  readonly report: (attempted: string, error: unknown) => void;
}

export interface AttachmentContent {
  readonly mediaType: string;
  readonly name: string | undefined;
  readonly bytes: Buffer;
}

export class Attachments {
  readonly #parts: AttachmentsParts;

  constructor(parts: AttachmentsParts) {
    this.#parts = parts;
  }

  /** Reads the content of what a caller attached, and refuses what cannot be used. Nothing is stored yet. */
  read(scope: TenantScope, given: readonly GivenPart[], signal?: AbortSignal): Promise<readonly ReadPart[]> {
    const placed = given.map((part, at) => ({ part, field: `attachments.${at}` }));
    return this.#parts.readParts(scope, placed, signal);
  }

  /** Stores them for a message that is about to be accepted. */
  async keep(
    scope: TenantScope,
    sessionId: string,
    read: readonly ReadPart[],
  ): Promise<readonly AttachmentRef[]> {
    const { store, sealer, time, newId } = this.#parts;
    const at = new Date(time.wallMs());
    return store.inTenant(scope, async (tx) => {
      const kept: AttachmentRef[] = [];
      for (const { type, mediaType, name, bytes } of read) {
        const id = newId();
        const ref = { id, type, media_type: mediaType, name: name ?? null, bytes: bytes.byteLength };
        const sealed = sealer.seal(bytes, placeOf(scope, id));
        await insertAttachment(tx, sessionId, { ...ref, sealed }, at);
        kept.push(ref);
      }
      return kept;
    });
  }

  /** For a message that was refused after all. What a failure leaves behind goes after two days. */
  async drop(scope: TenantScope, refs: readonly AttachmentRef[]): Promise<void> {
    const { store, report } = this.#parts;
    const ids = refs.map(({ id }) => id);
    await store
      .inTenant(scope, (tx) => removeUnbound(tx, ids))
      .catch((error: unknown) => report('removing the attachments of a refused message', error));
  }

  /** The form that models take, by id. What was erased or is kept no longer is missing. */
  async contents(scope: TenantScope, refs: readonly AttachmentRef[]): Promise<ReadonlyMap<string, UserPart>> {
    if (refs.length === 0) return new Map();
    const ids = refs.map(({ id }) => id);
    const rows = await this.#parts.store.inTenant(scope, (tx) => findAttachments(tx, ids));
    return new Map(rows.map((row) => [row.id, userPartOf(this.#opened(scope, row))]));
  }

  async content(scope: TenantScope, id: string): Promise<AttachmentContent> {
    const row = await this.#parts.store.inTenant(scope, (tx) => findShown(tx, id));
    if (row === null) throw new PlatformError('not_found', { message: 'The attachment was not found.' });
    return this.#opened(scope, row);
  }

  #opened(scope: TenantScope, { id, media_type, name, sealed }: FoundAttachment): AttachmentContent {
    const bytes = this.#parts.sealer.open(sealed, placeOf(scope, id));
    return { mediaType: media_type, name: name ?? undefined, bytes };
  }
}

export function placeOf({ tenantId }: TenantScope, id: string): SealedPlace {
  return ['attachment', tenantId, id];
}
