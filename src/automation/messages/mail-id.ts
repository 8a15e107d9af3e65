import { createHash } from 'node:crypto';

/**
 * A Message-ID as tables keep it for a year: it may name its sender, whose words go with an erasure. Equal ids are still
 * found.
 */
export function storedMailId(messageId: string): string {
  return createHash('sha256').update(messageId).digest('hex');
}
