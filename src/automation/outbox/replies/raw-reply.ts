import { invalidField } from '../../../kernel/errors.js';
import { RawReply, type RateFigures } from '../../../http/operations/index.js';
import { requestsOf, type TriggerConfig } from '../../triggers/types/registry.js';
import type { Rendered } from './formats.js';

/**
 * The only types that tenant text is served under: on the API's own origin, a browser would run another type as a page.
 */
const dataTypes: ReadonlySet<string> = new Set([
  'application/json',
  'application/xml',
  'text/xml',
  'text/plain',
]);
const plainText = 'text/plain; charset=utf-8';

/** A type with no parameter but a charset. */
const typeWithCharset = /^([a-z]+\/[a-z]+)(?:[ \t]*;[ \t]*charset=(?:[\w-]+|"[\w-]+"))?$/i;

function isData(contentType: string): boolean {
  const [, type = ''] = typeWithCharset.exec(contentType) ?? [];
  return dataTypes.has(type.toLowerCase());
}

/** Checked on save. Stored configurations with other types stay readable and are served as plain text. */
export function refuseRenderedAcknowledgement(parsed: TriggerConfig): void {
  const contentType = requestsOf(parsed)?.execution.ack_response?.content_type;
  if (contentType === undefined || isData(contentType)) return;
  throw invalidField(
    'trigger_config.execution.ack_response.content_type',
    `must be one of ${[...dataTypes].join(', ')}, with no parameter but charset`,
  );
}

/** XML can contain scripts too: the sandbox policy on every raw reply keeps a browser from running them. */
export function servedReply({ status, contentType, body }: Rendered, figures?: RateFigures): RawReply {
  return new RawReply(isData(contentType) ? contentType : plainText, body, { status, figures });
}
