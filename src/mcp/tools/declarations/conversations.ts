import { invalidField } from '../../../kernel/errors.js';
import { queryOf } from '../argument-text.js';
import type { Tool } from '../tool.js';

const session = { params: { id: 'session_id' } } as const;
const consumerKey = {
  consumer_key: {
    type: 'string',
    minLength: 1,
    maxLength: 255,
    description: 'The key as list_consumers shows it.',
  },
} as const;
const consumer = { params: { key: 'consumer_key' }, arguments: consumerKey } as const;

export const sessionTools: readonly Tool[] = [
  {
    name: 'list_sessions',
    title: 'List sessions',
    description:
      'Use to find conversations, latest first, filtered by control mode, agent or consumer. Pass next_cursor as cursor for more. Then call get_session.',
    operation: 'sessions.list',
    hints: 'R',
  },
  {
    name: 'get_session',
    title: 'Get a session',
    description:
      'Use to read a conversation: control mode, metadata and a page of its transcript. Pass transcript.next_cursor as cursor for the next page.',
    operation: 'sessions.get',
    hints: 'R',
    ...session,
    arguments: {
      limit: { type: 'integer', minimum: 1, maximum: 100, description: 'Messages in a page; 50 by default.' },
      cursor: { type: 'string', description: 'The next_cursor of the page before.' },
    },
    output: {
      type: 'object',
      properties: {
        success: { const: true },
        data: { type: 'object', description: 'The session.' },
        transcript: {
          type: 'object',
          properties: {
            messages: { type: 'array', items: { type: 'object' } },
            next_cursor: { type: ['string', 'null'] },
          },
          required: ['messages', 'next_cursor'],
        },
      },
      required: ['success', 'data', 'transcript'],
    },
    run: async (call, input, args) => {
      const query = queryOf(args, ['limit', 'cursor']);
      const found = await call.operation('sessions.get', input);
      const page = await call.operation('sessions.messages', { ...input, query });
      return { ...found, transcript: { messages: page['data'], next_cursor: page['next_cursor'] } };
    },
  },
  {
    name: 'suspend_session',
    title: 'Pause the agent on a session',
    description:
      'Use to stop the agent from answering in a session. Messages are kept. resume_session gives it back; handoff_session hands it to a person.',
    operation: 'sessions.suspend',
    adminClass: 'session control',
    hints: 'I',
    ...session,
  },
  {
    name: 'resume_session',
    title: 'Give a session back to the agent',
    description:
      'Use to end a pause or a takeover. The agent answers the next message. Returns the control mode.',
    operation: 'sessions.resume',
    adminClass: 'session control',
    hints: 'I',
    ...session,
  },
  {
    name: 'handoff_session',
    title: 'Hand a session to a person',
    description:
      'Use to let a person take over. The agent’s answer in progress is stopped. Then write with send_manual_message; resume_session ends the takeover.',
    operation: 'sessions.handoff',
    adminClass: 'session control',
    hints: 'I',
    ...session,
  },
  {
    name: 'cancel_turn',
    title: 'Cancel the running turn',
    description:
      'Use to stop the answer that an agent is generating in a session. Returns whether there was one.',
    operation: 'sessions.cancel',
    adminClass: 'cancel',
    hints: 'DI',
    ...session,
  },
  {
    name: 'send_manual_message',
    title: 'Write to the person in a session',
    description:
      'Use after handoff_session. Sends a text through the channel that the person’s last message came by. With an idempotency_key a repeat within 24 hours sends nothing.',
    operation: 'sessions.manual-message',
    adminClass: 'manual messaging',
    hints: 'O',
    ...session,
    headers: { 'idempotency-key': 'idempotency_key' },
    arguments: {
      idempotency_key: {
        type: 'string',
        maxLength: 255,
        description: 'Makes a repeat within 24 hours send nothing.',
      },
    },
  },
  {
    name: 'delete_session',
    title: 'Erase a session',
    description: 'Use to erase a conversation with its transcript for good. There is no way back.',
    operation: 'sessions.erase',
    adminClass: 'delete',
    hints: 'DI',
    ...session,
  },
];

export const consumerTools: readonly Tool[] = [
  {
    name: 'list_consumers',
    title: 'List consumers',
    description:
      'Use to find the people that agents talk to, by name or key. Returns contacts with totals and a blocked flag; pass next_cursor as cursor for more.',
    operation: 'consumers.list',
    hints: 'R',
  },
  {
    name: 'get_consumer',
    title: 'Get a consumer',
    description:
      'Use to read the profile of one contact: channels, totals and, with include_memory, what agents remember of them.',
    operation: 'consumers.get',
    hints: 'R',
    ...consumer,
    arguments: {
      ...consumerKey,
      include_memory: {
        type: 'boolean',
        description: 'Whether to read what agents remember of the contact too.',
      },
    },
    output: {
      type: 'object',
      properties: {
        success: { const: true },
        data: { type: 'object', description: 'The profile.' },
        memory: { description: 'What agents remember, with include_memory.' },
      },
      required: ['success', 'data'],
    },
    run: async (call, input, { include_memory: wantsMemory = false }) => {
      if (typeof wantsMemory !== 'boolean') throw invalidField('include_memory', 'must be true or false');
      const found = await call.operation('consumers.get', input);
      if (!wantsMemory) return found;
      const memory = await call.operation('consumers.memory', input);
      return { ...found, memory: memory['data'] };
    },
  },
  {
    name: 'list_consumer_sessions',
    title: 'List sessions of a consumer',
    description: 'Use to see the conversations of one contact, latest first. Then call get_session.',
    operation: 'consumers.sessions',
    hints: 'R',
    ...consumer,
  },
  {
    name: 'list_denied_consumers',
    title: 'List blocked consumers',
    description:
      'Use to see who is on the denylist, with reason, author and time. allow_consumer takes one off.',
    operation: 'consumers.denylist',
    adminClass: 'denylist',
    hints: 'R',
  },
  {
    name: 'deny_consumer',
    title: 'Block a consumer',
    description:
      'Use to stop serving a contact in all channels. Running turns are cancelled, waiting answers are not sent. allow_consumer undoes it.',
    operation: 'consumers.deny',
    adminClass: 'denylist',
    hints: 'DI',
    ...consumer,
  },
  {
    name: 'allow_consumer',
    title: 'Unblock a consumer',
    description: 'Use to take a contact off the denylist. Returns the contact.',
    operation: 'consumers.allow',
    adminClass: 'denylist',
    hints: 'I',
    ...consumer,
  },
  {
    name: 'delete_consumer_memory',
    title: 'Erase the memory of a consumer',
    description:
      'Use when a person asks to be forgotten. Erases for good the facts that agents remember of a contact, or with whole_contact the contact with all sessions, messages and executions.',
    operation: 'consumers.forget',
    adminClass: 'delete',
    hints: 'DI',
    ...consumer,
    arguments: {
      ...consumerKey,
      whole_contact: {
        type: 'boolean',
        description: 'Whether to erase the whole contact. There is no way back; a block stays in force.',
      },
    },
    output: {
      type: 'object',
      properties: {
        success: { const: true },
        message: { type: 'string' },
        data: {
          type: 'object',
          description: 'With whole_contact: how many sessions, messages and executions were erased.',
        },
      },
      required: ['success'],
    },
    run: (call, input, { whole_contact: isWhole = false }) => {
      // Anything but a clear yes must not erase a person.
      if (typeof isWhole !== 'boolean') throw invalidField('whole_contact', 'must be true or false');
      return call.operation(isWhole ? 'consumers.erase' : 'consumers.forget', input);
    },
  },
];

export const executionTools: readonly Tool[] = [
  {
    name: 'list_executions',
    title: 'List executions',
    description:
      'Use to find turns by trace id, agent, session or status, newest first. Then call get_execution for the steps of one.',
    operation: 'executions.list',
    hints: 'R',
  },
  {
    name: 'get_execution',
    title: 'Get an execution',
    description:
      'Use to learn why a turn was slow or failed: its steps with times, tools, tokens, outcome and the clock that ended it.',
    operation: 'executions.get',
    hints: 'R',
    params: { id: 'execution_id' },
  },
  {
    name: 'list_dead_letters',
    title: 'List dead deliveries',
    description:
      'Use to find answers that could not be sent after all attempts, with the last error. Fix the cause, then call replay_dead_letter.',
    operation: 'deliveries.list',
    adminClass: 'manual messaging',
    fixed: { status: 'dead' },
    hints: 'R',
  },
  {
    name: 'replay_dead_letter',
    title: 'Send a dead delivery again',
    description:
      'Use after the cause of a failed delivery is fixed. Sends it again from the failed part on. Returns the delivery.',
    operation: 'deliveries.replay',
    adminClass: 'manual messaging',
    hints: 'O',
    params: { id: 'delivery_id' },
  },
];
