import type { Ready } from '../../../kernel/ready.js';
import type { TenantScope } from '../../../kernel/tenant-scope.js';
import { PlatformError } from '../../../kernel/errors.js';
import { type Sandbox, SandboxError, type SandboxTask } from '../../../infra/sandbox/index.js';
import type { PlainTextInput } from './plain-text.task.js';
import { plainText } from './plain-text.js';

/** Converts Markdown to plain text. */
export type PlainTexts = (scope: TenantScope, markdown: string) => Ready<string>;

/**
 * The time to parse Markdown grows with the square of its length: 100,000 characters of `a_b` take ten seconds. Up to
 * this length it takes milliseconds at worst, and most answers are shorter.
 */
const charsHereMax = 2_000;

const task: SandboxTask<PlainTextInput, string> = {
  module: new URL('./plain-text.task.js', import.meta.url),
  timeoutMs: 1_000,
};

/** An answer that cannot be converted in time is sent as written rather than dropped. */
export function plainTextsBy(sandbox: Pick<Sandbox, 'run'>): PlainTexts {
  return (scope, markdown) => {
    if (markdown.length <= charsHereMax) return plainText(markdown);
    return sandbox
      .run(scope.tenantId, task, () => ({ markdown }))
      .catch((error: unknown) => {
        if (error instanceof SandboxError || error instanceof PlatformError) return markdown;
        throw error;
      });
  };
}
