export interface ErrorKind {
  readonly status: number;
  /** `never`: the request itself is wrong. `later`: the same request may succeed after a while. */
  readonly retry: 'never' | 'later';
  /** What is wrong, true for every occurrence. */
  readonly message: string;
  /** What the caller does about it. */
  readonly advice: string;
}

/** How turns end, as executions, tools of MCP and callbacks show it. No HTTP answer has these codes. */
export const turnErrorKinds = {
  TURN_TIMEOUT: {
    status: 200,
    retry: 'later',
    message: 'The turn ended by its deadline.',
    advice: 'Ask for less in one turn, or use an asynchronous webhook for long work.',
  },
  approval_pending: {
    status: 200,
    retry: 'never',
    message: 'The turn waits for a person to approve the call of a tool.',
    advice: 'Decide with POST /api/v1/approvals/:id, then read the execution. Do not send the message again.',
  },
  worker_lost: {
    status: 200,
    retry: 'later',
    message: 'The process that ran the turn ended, and the turn could not be continued.',
    advice: 'Send the message again. If it stays, report the execution to the operator.',
  },
  not_storable: {
    status: 200,
    retry: 'never',
    message: 'The database refuses the message or the answer of the turn.',
    advice: 'Send the message in another form or in parts. The same one would be refused again.',
  },
  unreadable_mail: {
    status: 200,
    retry: 'never',
    message: 'The mail cannot be read.',
    advice: 'Ask the sender to send it again as plain text.',
  },
  unreadable_row: {
    status: 200,
    retry: 'never',
    message: 'The row cannot be read.',
    advice: 'Use fewer or shorter columns in message_template, and a table with a primary key.',
  },
  unauthenticated_sender: {
    status: 200,
    retry: 'never',
    message: "The sender's domain does not vouch for the mail (DMARC).",
    advice:
      'Ask the sender to set up SPF or DKIM for the domain. The operator sets TROUPE_MAIL_SENDER_CHECK.',
  },
} as const satisfies Record<string, ErrorKind>;
