import { reservedNames } from '../../conversations/invocation/index.js';
import { roles } from '../../kernel/caller.js';
import { limitsOf, modelTiersOf, plans } from '../../kernel/plans/index.js';
import { isFor, toolsets } from '../tools/catalogue.js';
import type { Document, DocumentParts } from './document.js';
import { errorsText } from './errors-guide.js';
import { authenticationText, contextText, overviewText, streamingText, webhooksText } from './guide-texts.js';

/** Texts that explain the platform. Lists in them are made from the tables of the code. */
export function guideDocuments(parts: DocumentParts): readonly Document[] {
  const { publicUrl } = parts;
  return [
    guide('overview', 'Overview', 'What the platform is, its objects, first steps.', () =>
      overviewText(publicUrl()),
    ),
    guide(
      'authentication',
      'Authentication',
      'Keys, tokens, headers, settings over stdio.',
      () => authenticationText,
    ),
    guide('permissions', 'Permissions', 'Which role may use which tool.', () => permissionsText(parts)),
    guide('errors', 'Errors', 'Every error code: status, cause, whether to retry.', errorsText),
    guide('limits', 'Limits', 'Limits of plans, rates, sizes and times.', limitsText),
    guide('streaming', 'Streaming', 'Events of a turn: types, order, resuming.', () => streamingText),
    guide('webhooks', 'Webhooks', 'Signing, callbacks, retries, chunks, buffers.', () => webhooksText),
    guide(
      'context-and-bindings',
      'Context and bindings',
      'context, bindings, session_from, metadata, ignored fields.',
      () => contextText(reservedNames),
    ),
  ];
}

function guide(name: string, title: string, description: string, read: () => string): Document {
  return {
    uri: `platform://docs/${name}`,
    name: `docs-${name}`,
    title,
    description,
    mimeType: 'text/markdown',
    read,
  };
}

function permissionsText({ catalogue }: DocumentParts): string {
  const rows = catalogue.all.map((one) => {
    const marks = roles.map((role) => (isFor(one, role) ? 'yes' : '-'));
    return `| ${one.tool.name} | ${one.permission ?? '-'} | ${marks.join(' | ')} | ${one.tool.adminClass ?? '-'} |`;
  });
  const totals = roles.map((role) => String(catalogue.of(role).length));
  return [
    '# Permissions',
    '',
    'The last column says why a tool is for owners and admins only.',
    '',
    `| tool | permission | ${roles.join(' | ')} | class |`,
    `|---|---|${'---|'.repeat(roles.length)}---|`,
    ...rows,
    `| **total** | | ${totals.join(' | ')} | |`,
    '',
    `Toolsets, for the header X-MCP-Toolsets: ${Object.keys(toolsets).join(', ')}.`,
  ].join('\n');
}

function limitsText(): string {
  const rows = plans.map((plan) => {
    const { requestsPerMinute, requestsPerDay, monthlyTokens, keyRpmMax } = limitsOf(plan, {});
    const tiers = modelTiersOf(plan).join(', ');
    return `| ${plan} | ${keyRpmMax} | ${requestsPerMinute} | ${requestsPerDay} | ${monthlyTokens} | ${tiers} |`;
  });
  return [
    '# Limits',
    '',
    '| plan | requests of a key per minute, at most | model work per minute | model work per day | tokens per month | model tiers |',
    '|---|---|---|---|---|---|',
    ...rows,
    '',
    '- Each request of a key counts in the window of the key; model calls, turns and trigger executions also count in the window of the tenant. A refusal says when to try again.',
    '- A credential runs at most 50 tools at once on a node. An answer is at most 1 MB: lists come in pages with `next_cursor`.',
    '- A request body is at most 20 MB, of which 4 MB are not attachments.',
    '- Over MCP an id and a progress token have at most 200 characters, an address 2,000; one stream of updates names at most 100 addresses. A client that reads slowly gets fewer reports of progress, and one update of an address for many changes.',
    '- A turn over MCP ends after 180 s; `options.timeout_ms` shortens that.',
    '- `context`: 2,000 characters and 50 fields. `bindings`: 16 KB. `metadata`: 20 keys and 4 KB. `session_from`: 1 to 5 names.',
    '- `attachments`: 10, each of at most 5 MB.',
    '- Tools of agents end after 30 s unless they set another limit, 1 to 120 s.',
  ].join('\n');
}
