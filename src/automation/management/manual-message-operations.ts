import { z } from 'zod';
import { invalidField } from '../../kernel/errors.js';
import {
  declare,
  one,
  oneShape,
  type Operation,
  tenantCaller,
  givenUuid,
} from '../../http/operations/index.js';
import type { ManualMessages } from './manual-messages.js';

const textCharsMax = 20_000;
const keyCharsMax = 255;

export function manualOperations(messages: ManualMessages): readonly Operation[] {
  return [
    declare({
      name: 'sessions.manual-message',
      method: 'POST',
      audit: 'sessions.manual-message',
      idempotency: { exempt: 'the message keeps the key' },
      path: '/api/v1/sessions/:id/manual-message',
      title: 'Write to the person in a session yourself',
      description:
        'Goes out by the channel or callback that the session’s last message came in by. The same `Idempotency-Key` ' +
        'within 24 hours answers the same and sends nothing.',
      access: tenantCaller('messages:send'),
      params: z.object({ id: givenUuid }),
      body: z.object({ message: z.string().trim().min(1).max(textCharsMax) }),
      headers: ['idempotency-key'],
      output: oneShape(z.object({ message_id: z.uuid(), delivered_at: z.iso.datetime() })),
      errors: [
        'INVALID_SESSION_STATE',
        'NO_TRIGGER_HISTORY',
        'NO_CALLBACK_CONFIG',
        'DELIVERY_FAILED',
        'conflict',
      ],
      handle: async ({ caller, params, body, headers }) => {
        const key = headers['idempotency-key'] ?? '';
        if (key.length > keyCharsMax) {
          throw invalidField('Idempotency-Key', `must have at most ${keyCharsMax} characters`);
        }
        const { messageId, deliveredAt } = await messages.send(caller, {
          sessionId: params.id,
          text: body.message,
          key: key === '' ? undefined : key,
        });
        return one({ message_id: messageId, delivered_at: deliveredAt.toISOString() });
      },
    }),
  ];
}
