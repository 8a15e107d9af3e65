import type { ReplyItem } from '../../../../src/llm/contract.js';

/** Items as plain data for comparing: errors by class and text, usage without the vendor's own object. */
export function plain(items: readonly ReplyItem[]): unknown[] {
  return items.map((item) => {
    if (item.type === 'failure') {
      const { failure, message, code } = item.error;
      return { type: 'failure', failure, message, ...(code !== undefined && { code }) };
    }
    if (item.type !== 'usage') return item;
    const { raw: _raw, ...usage } = item.usage;
    return { type: 'usage', usage };
  });
}
