import { z } from 'zod';
import type { Time } from '../../../cluster/index.js';
import {
  declare,
  eventStream,
  type Operation,
  SocketReply,
  tenantCaller,
} from '../../http/operations/index.js';
import { realtimeEventShape } from './event-shapes.js';
import type { Hub } from './hub.js';
import { afterOf, serveSocket, serveStream } from './realtime-connection.js';

const query = z.object({
  last_event_id: z.string().max(200).optional().describe('The last `id` that the client received.'),
});

const whatIsSent =
  'Events of the tenant as they happen. A client that reconnects with its last `id` gets the events it missed in the last ten ' +
  'minutes, each event once.';

export function realtimeOperations(hub: Hub, time: Time): readonly Operation[] {
  return [
    declare({
      name: 'realtime.socket',
      method: 'GET',
      path: '/api/v1/realtime',
      title: 'Realtime events by WebSocket',
      description: `${whatIsSent} One event per message. The socket is closed with code 4401 when its credential expires or is revoked.`,
      access: tenantCaller('sessions:read'),
      query,
      status: 101,
      output: realtimeEventShape,
      errors: ['upgrade_required', 'rate_limit_exceeded'],
      handle: ({ caller: { scope }, query: { last_event_id: id } }) => {
        hub.admit(scope);
        return new SocketReply((socket) => serveSocket(hub, scope, afterOf(id), socket));
      },
    }),
    declare({
      name: 'realtime.events',
      method: 'GET',
      path: '/api/v1/realtime/events',
      title: 'Realtime events by server-sent events',
      description: `${whatIsSent} Send the last id in \`Last-Event-ID\` or in the query. A stream that begins without one tells its position as an \`id\` without data.`,
      access: tenantCaller('sessions:read'),
      query,
      headers: ['last-event-id'],
      contentType: 'text/event-stream',
      output: realtimeEventShape,
      shown: { events: realtimeEventShape },
      errors: ['rate_limit_exceeded'],
      handle: ({ caller: { scope }, headers, query: { last_event_id: asked } }) => {
        hub.admit(scope);
        // The `Last-Event-ID` header, which the browser adds when it reconnects, is newer than the id in the
        // address.
        const id = headers['last-event-id'] === '' ? asked : (headers['last-event-id'] ?? asked);
        return eventStream((writer) => serveStream(hub, scope, afterOf(id), writer, time));
      },
    }),
  ];
}
