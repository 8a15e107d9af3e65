import {
  type Attachment,
  Attachment_Type as Kind,
  type Turn,
  type TurnInput,
  TurnInput_Role as Role,
} from '../../../../generated/troupe/actors/v1/session.js';
import type { AttachmentRef } from '../../attachments/index.js';
import { readResponseFormat } from '../../../models/response-format/index.js';
import { requiredPart, wireEnum } from '../../../infra/runtime/index.js';
import type { RequestedInput, RequestedTurn } from '../requests.js';
import { authorFromWire, authorToWire } from './authors.js';
import { flatFromWire, flatToWire } from './objects.js';

const roles = wireEnum<RequestedInput['role'], Role>('TurnInput.role', {
  owner: Role.OWNER,
  admin: Role.ADMIN,
  editor: Role.EDITOR,
  member: Role.MEMBER,
});

const kinds = wireEnum<AttachmentRef['type'], Kind>('Attachment.type', {
  image: Kind.IMAGE,
  file: Kind.FILE,
});

export function turnToWire(turn: RequestedTurn): Turn {
  return {
    executionId: turn.executionId,
    agentId: turn.agentId,
    mustExist: turn.mustExist,
    ownSessionsOnly: turn.ownSessionsOnly,
    channel: turn.channel,
    consumerKey: turn.consumerKey,
    consumerDisplayName: turn.consumerDisplayName,
    nameInferred: turn.nameInferred,
    input: inputToWire(turn.input),
    context: flatToWire(turn.context),
    bindings: flatToWire(turn.bindings),
    metadata: flatToWire(turn.metadata),
    keyId: turn.keyId ?? undefined,
    userId: turn.userId ?? undefined,
    triggerId: turn.triggerId,
    deadlineMs: turn.deadlineMs,
    sharesSession: turn.sharesSession ?? false,
  };
}

export function turnFromWire(part: Turn | undefined): RequestedTurn {
  const turn = requiredPart('RunRequest.turn', part);
  return {
    executionId: turn.executionId,
    agentId: turn.agentId,
    mustExist: turn.mustExist,
    ownSessionsOnly: turn.ownSessionsOnly,
    channel: turn.channel,
    consumerKey: turn.consumerKey,
    consumerDisplayName: turn.consumerDisplayName,
    nameInferred: turn.nameInferred,
    input: inputFromWire(requiredPart('Turn.input', turn.input)),
    context: flatFromWire('Turn.context', turn.context),
    bindings: flatFromWire('Turn.bindings', turn.bindings),
    metadata: flatFromWire('Turn.metadata', turn.metadata),
    keyId: turn.keyId ?? null,
    userId: turn.userId ?? null,
    triggerId: turn.triggerId,
    deadlineMs: turn.deadlineMs,
    sharesSession: turn.sharesSession,
  };
}

function inputToWire(input: RequestedInput): TurnInput {
  return {
    message: input.message,
    author: input.author === undefined ? undefined : authorToWire(input.author),
    // Present even if it is empty, because null is another value.
    declaredContext: input.declared_context ?? undefined,
    acceptedFields: [...input.accepted_fields],
    ignoredFields: [...input.ignored_fields],
    quickReplies: input.quick_replies,
    role: roles.toWire(input.role),
    attachments: (input.attachments ?? []).map(attachmentToWire),
    responseFormat: input.response_format === undefined ? undefined : JSON.stringify(input.response_format),
    traceparent: input.traceparent,
  };
}

function inputFromWire({ author, declaredContext, ...input }: TurnInput): RequestedInput {
  return {
    message: input.message,
    ...(author === undefined ? {} : { author: authorFromWire(author) }),
    declared_context:
      declaredContext === undefined ? null : flatFromWire('TurnInput.declared_context', declaredContext),
    accepted_fields: input.acceptedFields,
    ignored_fields: input.ignoredFields.map(({ field, reason }) => ({ field, reason })),
    quick_replies: input.quickReplies,
    role: roles.fromWire(input.role),
    ...(input.attachments.length === 0 ? {} : { attachments: input.attachments.map(attachmentFromWire) }),
    ...(input.traceparent === undefined ? {} : { traceparent: input.traceparent }),
    ...(input.responseFormat === undefined
      ? {}
      : {
          response_format: readResponseFormat(JSON.parse(input.responseFormat), 'TurnInput.response_format'),
        }),
  };
}

function attachmentToWire({ id, type, media_type, name, bytes }: AttachmentRef): Attachment {
  return { id, type: kinds.toWire(type), mediaType: media_type, name: name ?? undefined, bytes };
}

function attachmentFromWire({ id, type, mediaType, name, bytes }: Attachment): AttachmentRef {
  return { id, type: kinds.fromWire(type), media_type: mediaType, name: name ?? null, bytes };
}
