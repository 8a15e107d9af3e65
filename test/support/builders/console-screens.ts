// The screens of the console with the showcase's tenant, for pictures and for tests of all of them.
import type { Showcase } from './showcase.js';

export interface ConsoleScreen {
  readonly name: string;
  readonly path: string | ((made: Showcase) => string);
  /** Shown to people who are not signed in. */
  readonly signedOut?: boolean;
  /** What is on screen once it is whole. */
  readonly ready: string;
}

const agent =
  (query: string) =>
  ({ agents }: Showcase): string =>
    `/agents/${agents.concierge}${query}`;
const trigger =
  (query: string) =>
  ({ trigger: id }: Showcase): string =>
    `/triggers/${id}${query}`;

export const consoleScreens: readonly ConsoleScreen[] = [
  { name: 'sign-in', path: '/sign-in', signedOut: true, ready: 'Sign in' },
  { name: 'register', path: '/register', signedOut: true, ready: 'Register' },
  { name: 'operator', path: '/operator', signedOut: true, ready: 'Operator token' },
  { name: 'overview', path: '/', ready: 'not delivered' },
  { name: 'inbox', path: ({ sessions }) => `/inbox?session=${sessions.taken}`, ready: 'this is Marta' },
  { name: 'approval', path: ({ sessions }) => `/inbox?session=${sessions.waiting}`, ready: 'Approve' },
  { name: 'inbox-list', path: '/inbox', ready: 'Ada Moreno' },
  { name: 'turns', path: '/turns', ready: 'openai.gpt-5-mini' },
  { name: 'turn', path: ({ turn }) => `/turns/${turn}?step=2`, ready: 'Result, as the model saw it' },
  { name: 'agents', path: '/agents', ready: 'Travel Concierge' },
  { name: 'agent', path: agent(''), ready: 'Playground' },
  { name: 'agent-model', path: agent('?tab=model'), ready: 'Temperature' },
  { name: 'agent-tools', path: agent('?tab=tools'), ready: 'find_booking' },
  { name: 'agent-memory', path: agent('?tab=memory'), ready: 'Playground' },
  { name: 'agent-details', path: agent('?tab=details'), ready: 'Playground' },
  { name: 'agent-versions', path: agent('?tab=versions&version=1'), ready: 'same content' },
  { name: 'triggers', path: '/triggers', ready: 'Morning digest' },
  { name: 'trigger', path: trigger(''), ready: 'Send the tickets by post' },
  { name: 'deliveries', path: trigger('?tab=deliveries'), ready: 'Send again' },
  { name: 'trigger-connect', path: trigger('?tab=connect'), ready: 'curl' },
  { name: 'trigger-try', path: trigger('?tab=try'), ready: 'What would happen' },
  { name: 'trigger-settings', path: trigger('?tab=settings'), ready: 'How it answers' },
  { name: 'new-trigger', path: '/triggers/new', ready: 'WhatsApp Cloud API' },
  { name: 'new-slack', path: '/triggers/new?kind=slack', ready: 'Who may send' },
  { name: 'calls', path: '/calls', ready: 'openai.gpt-5-mini' },
  { name: 'models', path: '/models', ready: 'openai.gpt-5-mini' },
  {
    name: 'try-models',
    path: '/models/try?models=%5B%22openai.gpt-5-mini%22%2C%22sim.echo%22%5D',
    ready: 'Another model',
  },
  { name: 'usage', path: '/usage?by=model', ready: 'Key Booking engine' },
  { name: 'consumers', path: '/consumers', ready: 'Ada Moreno' },
  { name: 'consumer', path: '/consumers/crm%3A20418', ready: 'What agents remember' },
  { name: 'denylist', path: '/denylist', ready: 'Denylist' },
  { name: 'keys', path: '/keys', ready: 'Booking engine' },
  { name: 'new-key', path: '/keys?create=true', ready: 'Create a key' },
  { name: 'secrets', path: '/secrets', ready: 'crm-token' },
  { name: 'databases', path: '/databases', ready: 'Connect a database' },
  { name: 'members', path: '/members', ready: 'Open invitations' },
  { name: 'audit', path: '/audit', ready: 'triggers.create' },
  { name: 'errors', path: '/errors', ready: 'Errors' },
  { name: 'settings', path: '/settings', ready: 'Save the days' },
  { name: 'reference', path: '/docs', ready: 'Error codes' },
  { name: 'reference-operation', path: '/docs#agents.create', ready: 'Create a draft agent' },
];
