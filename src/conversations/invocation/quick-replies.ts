export interface QuickRepliesBlock {
  readonly type: 'quick_replies';
  readonly data: { readonly labels: readonly string[] };
}

export interface StoredAnswer {
  readonly content: string;
  readonly metadata: Readonly<Record<string, unknown>>;
}

/**
 * An answer in the form that history stores. If the turn only suggested replies, the labels become the text, so
 * that the model and readers of the history still see what was offered.
 */
export function storedAnswer(content: string, blocks: readonly QuickRepliesBlock[]): StoredAnswer {
  const labels = blocks.flatMap(({ data }) => data.labels);
  if (content !== '' || labels.length === 0) return { content, metadata: {} };
  return {
    content: labels.map((label, index) => `${index + 1}. ${label}`).join('\n'),
    metadata: { content_from_blocks: true },
  };
}
