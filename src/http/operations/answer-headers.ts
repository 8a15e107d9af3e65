/** The headers of answers that clients read. Pages of allowed origins may read them too, and the documents describe them. */
export const answerHeaders = {
  'X-Request-Id': 'The id of the request, which the log of the node has. A client may choose it.',
  'X-RateLimit-Limit': 'The most requests of the window that counted this one.',
  'X-RateLimit-Remaining': 'How many requests the window still admits.',
  'X-RateLimit-Reset': 'When the window is empty again, in Unix seconds.',
  'Retry-After': 'After how many seconds the same request may succeed.',
  'X-Should-Retry':
    '`false` if the same request would be refused again: by the vendor, or for longer than a minute. The clients of OpenAI and Anthropic obey it.',
  'X-Execution-Id': 'The id of the execution, with which its stream can be continued.',
  'Idempotent-Replayed':
    '`true` on the first answer that a repeat with the same `Idempotency-Key` gets again.',
  'X-Troupe-Paid-By': 'Whose credential paid the call: `tenant` or `platform`.',
  'X-Troupe-Ignored': 'The fields of the request that had no effect, separated by commas.',
  'Request-Id': 'The same as `X-Request-Id`, for clients that send `anthropic-version`.',
} as const;

export type AnswerHeader = keyof typeof answerHeaders;
