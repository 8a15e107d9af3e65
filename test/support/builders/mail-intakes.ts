// The intake of mails over a real store, without the other parts of a node.
import { MailIntake, type MailIntakeParts } from '../../../src/automation/mail/mail-intake.js';
import { MessageSealer } from '../../../src/automation/messages/message-payload.js';
import { systemPlatform } from '../../../src/infra/platform/index.js';
import { createSealer } from '../../../src/infra/sealing/index.js';
import type { Store } from '../../../src/infra/storage/index.js';

export function mailIntakeOver(store: Store): MailIntake {
  const parts: Partial<MailIntakeParts> = {
    store,
    reads: { inTenant: async () => [] },
    senderBlocks: { isDenied: () => false },
    refusedMails: { countAtOnce: () => ({ figures: { limit: 60, remaining: 59, reset: 0 } }) },
    addresses: {
      ownAddresses: () => [],
      sendingAs: async () => ({ from: 'desk@hotel.example', ready: true }) as never,
    },
    seal: new MessageSealer(createSealer({ masterKey: Buffer.alloc(32, 1), random: systemPlatform.random })),
    ids: systemPlatform.ids,
  };
  return new MailIntake(parts as MailIntakeParts);
}
