import { z } from 'zod';
import { declare, type Operation, RawReply, tenantCaller, givenUuid } from '../../http/operations/index.js';
import type { AttachmentContent, Attachments } from './attachments.js';

export function attachmentOperations(attachments: Pick<Attachments, 'content'>): readonly Operation[] {
  return [
    declare({
      name: 'attachments.get',
      method: 'GET',
      path: '/api/v1/attachments/:id',
      title: 'Get the content of an attachment of a message.',
      description: 'The messages of a conversation list their attachments with their ids.',
      access: tenantCaller('sessions:read'),
      params: z.object({ id: givenUuid }),
      output: z.unknown(),
      contentType: 'application/octet-stream',
      errors: ['not_found'],
      handle: async ({ caller, params }) => reply(await attachments.content(caller.scope, params.id)),
    }),
  ];
}

/**
 * A browser that opens it must not run it as a page of this origin, whatever the sender says that it is: it is saved to a
 * file, and in a frame it is sandboxed. All answers forbid guessing another type.
 */
function reply({ mediaType, name, bytes }: AttachmentContent): RawReply {
  const encoded = encodeURIComponent(name ?? 'attachment').replaceAll(/['()*]/g, hex);
  return new RawReply(servedType(mediaType), bytes, {
    headers: {
      'Content-Disposition': `attachment; filename*=UTF-8''${encoded}`,
      'Content-Security-Policy': "default-src 'none'; sandbox",
      'Cache-Control': 'private, no-store',
    },
  });
}

function hex(character: string): string {
  return `%${character.charCodeAt(0).toString(16).toUpperCase()}`;
}

const harmless = /^(?:image\/(?:png|jpeg|gif|webp)|application\/pdf)$/;

function servedType(mediaType: string): string {
  if (harmless.test(mediaType)) return mediaType;
  return mediaType.startsWith('text/') || mediaType === 'application/json'
    ? 'text/plain; charset=utf-8'
    : 'application/octet-stream';
}
