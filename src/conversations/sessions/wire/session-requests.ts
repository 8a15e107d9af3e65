import {
  type AppendRequest,
  type AppendResponse,
  Control_Kind as Kind,
  Control_Mode as Mode,
  type ControlRequest,
  ControlRequest_Change as Change,
  type ControlResponse,
  type DecideRequest,
  type OpenRequest,
  type OpenResponse,
} from '../../../../generated/troupe/actors/v1/session.js';
import { requiredPart, wireEnum } from '../../../infra/runtime/index.js';
import type {
  AppendedMessage,
  OpenedSession,
  RequestedControl,
  RequestedDecision,
  SessionOverview,
} from '../requests.js';
import type { ControlKind, ControlMode } from '../rows.js';
import { authorFromWire, authorToWire } from './authors.js';
import { flatFromWire, flatToWire } from './objects.js';

const changes = wireEnum<RequestedControl['change'], Change>('ControlRequest.change', {
  engaged: Change.ENGAGE,
  suspend: Change.SUSPEND,
  handoff: Change.HANDOFF,
});
const modes = wireEnum<ControlMode, Mode>('Control.mode', {
  engaged: Mode.ENGAGED,
  manual_handoff: Mode.MANUAL_HANDOFF,
});
const kinds = wireEnum<ControlKind, Kind>('Control.kind', { suspend: Kind.SUSPEND, handoff: Kind.HANDOFF });

export function openToWire(session: OpenedSession): OpenRequest {
  return {
    agentId: session.agentId,
    consumerKey: session.consumerKey,
    channel: session.channel,
    metadata: flatToWire(session.metadata),
    startedBy: session.startedBy === null ? undefined : authorToWire(session.startedBy),
  };
}

export function openFromWire({ startedBy, ...request }: OpenRequest): OpenedSession {
  return {
    agentId: request.agentId,
    consumerKey: request.consumerKey,
    channel: request.channel,
    metadata: flatFromWire('OpenRequest.metadata', request.metadata),
    startedBy: startedBy === undefined ? null : authorFromWire(startedBy),
  };
}

export function decisionFromWire(request: DecideRequest): RequestedDecision {
  const { approvalId, approved, arguments: edit, reason, by } = request;
  return { approvalId, approved, arguments: edit, reason, by };
}

export function controlToWire({ change, ...control }: RequestedControl): ControlRequest {
  return { ...control, change: changes.toWire(change) };
}

export function controlFromWire(request: ControlRequest): RequestedControl {
  return {
    change: changes.fromWire(request.change),
    reason: request.reason,
    by: request.by,
    expiresInSeconds: request.expiresInSeconds,
    ifEpoch: request.ifEpoch,
  };
}

export function appendToWire(message: AppendedMessage): AppendRequest {
  return {
    messageId: message.id,
    content: message.content,
    metadata: flatToWire(message.metadata),
    mustBeHandedOff: message.mustBeHandedOff,
    writtenBy: message.writtenBy,
    author: message.author === null ? undefined : authorToWire(message.author),
  };
}

export function appendFromWire({ author, ...request }: AppendRequest): AppendedMessage {
  return {
    id: request.messageId,
    content: request.content,
    metadata: flatFromWire('AppendRequest.metadata', request.metadata),
    mustBeHandedOff: request.mustBeHandedOff,
    writtenBy: request.writtenBy,
    author: author === undefined ? null : authorFromWire(author),
  };
}

export function appendedFromWire({ createdAt }: AppendResponse): Date {
  return requiredPart('AppendResponse.created_at', createdAt);
}

export function overviewToWire({
  id,
  agentId,
  control,
  createdAt,
}: SessionOverview): OpenResponse & ControlResponse {
  const { mode, kind, reason, by, since, expiresAt } = control;
  return {
    session: {
      id,
      agentId,
      control: {
        mode: modes.toWire(mode),
        kind: kind === null ? undefined : kinds.toWire(kind),
        reason: reason ?? undefined,
        by: by ?? undefined,
        since: since ?? undefined,
        expiresAt: expiresAt ?? undefined,
      },
      createdAt,
    },
  };
}

export function overviewFromWire(response: OpenResponse | ControlResponse): SessionOverview {
  const { id, agentId, ...session } = requiredPart('ControlResponse.session', response.session);
  const { mode, kind, reason, by, since, expiresAt } = requiredPart('Session.control', session.control);
  return {
    id,
    agentId,
    control: {
      mode: modes.fromWire(mode),
      kind: kind === undefined ? null : kinds.fromWire(kind),
      reason: reason ?? null,
      by: by ?? null,
      since: since ?? null,
      expiresAt: expiresAt ?? null,
    },
    createdAt: requiredPart('Session.created_at', session.createdAt),
  };
}
