import { type Ready, whenReady } from '../../../kernel/ready.js';
import type { TenantScope } from '../../../kernel/tenant-scope.js';
import type { ResponseFormat, ResponseTransform } from '../../triggers/config/webhook-config.js';
import { cutText } from '../../triggers/mapped-context.js';
import type { PlainTexts } from './plain-texts.js';

/** The default transform of a response format. */
export function derivedTransform(format: ResponseFormat): ResponseTransform {
  return format === 'twiml' ? { strip_markdown: true, max_length: 4_096 } : { strip_markdown: false };
}

/** The context for transforming a tenant's answers. */
export interface TextWay {
  readonly scope: TenantScope;
  readonly plainTexts: PlainTexts;
}

export function transformed(
  { scope, plainTexts }: TextWay,
  text: string,
  { strip_markdown, max_length }: ResponseTransform,
): Ready<string> {
  return whenReady(strip_markdown ? plainTexts(scope, text) : text, (plain) =>
    max_length === undefined ? plain : cutText(plain, max_length),
  );
}
