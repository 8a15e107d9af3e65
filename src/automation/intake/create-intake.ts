import { type BlockedMessageParts, BlockedMessages } from './blocked-messages.js';
import { type InboxRowParts, InboxRows } from './inbox-rows.js';
import { MessageAcceptance, type MessageAcceptanceParts } from './message-acceptance.js';
import type { WebhookChecks } from './pipeline/webhook-checks.js';
import type { UncountedRequests } from './uncounted-requests.js';
import { WebhookIntake } from './webhook.js';

export interface IntakeParts {
  /** Decides on each message. The dry run looks at the same object. */
  readonly checks: WebhookChecks;
  /** Counts what no tenant's window counts. */
  readonly uncounted: Pick<UncountedRequests, 'noteEnded' | 'noteRefused'>;
  /** How a message is written. */
  readonly rows: Omit<InboxRowParts, 'runner'>;
  /** What becomes of a message that the checks let pass, or that a sender block stops. */
  readonly handling: Omit<MessageAcceptanceParts & BlockedMessageParts, 'rows' | 'blocked' | 'uncounted'>;
}

export function createIntake({ checks, uncounted, rows: parts, handling }: IntakeParts): WebhookIntake {
  const rows = new InboxRows({ ...parts, runner: handling.runner });
  const blocked = new BlockedMessages({ ...handling, rows, uncounted });
  const acceptance = new MessageAcceptance({ ...handling, rows, blocked });
  return new WebhookIntake({ checks, acceptance, blocked, uncounted, measures: handling.measures });
}
