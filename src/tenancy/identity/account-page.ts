import { createHash } from 'node:crypto';
import { RawReply } from '../../http/operations/index.js';
import { escapeHtml } from '../../infra/mail/index.js';

/**
 * The pages that links of mails open. The server writes what the link is about, or why it cannot be used; a script sends
 * the form, so that opening the page, as mail scanners do, changes nothing.
 */
export interface PageParts {
  readonly title: string;
  readonly facts?: readonly (readonly [name: string, value: string])[];
  /** Why the link cannot be used. Shown in place of the form. */
  readonly problem?: string;
  readonly form?: {
    /** Trusted HTML: never text of a user. */
    readonly fields: string;
    readonly button: string;
    readonly script: string;
    /** What a reader without scripts can do. */
    readonly without: string;
  };
}

const style = `
  body { font: 16px/1.5 system-ui, sans-serif; max-width: 26rem; margin: 12vh auto; padding: 0 1rem; color: #1c2430; }
  dt { color: #5a6472; } dd { margin: 0 0 .5rem; overflow-wrap: anywhere; }
  label { display: block; margin-top: 1rem; }
  input, button { font: inherit; width: 100%; box-sizing: border-box; padding: .5rem; margin-top: .25rem; }
  button { margin-top: 1.5rem; cursor: pointer; }
  [role=status] { margin-top: 1rem; min-height: 1.5em; }
`;

export function accountPage({ title, facts = [], problem, form }: PageParts): RawReply {
  const shownFacts = facts.map(
    ([name, value]) => `<dt>${escapeHtml(name)}</dt><dd>${escapeHtml(value)}</dd>`,
  );
  const html = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeHtml(title)}</title>
<style>${style}</style>
</head>
<body>
<main>
<h1>${escapeHtml(title)}</h1>
${facts.length === 0 ? '' : `<dl>${shownFacts.join('\n')}</dl>`}
${form === undefined ? '' : `<form>\n${form.fields}\n<button>${escapeHtml(form.button)}</button>\n</form>`}
<p role="status">${escapeHtml(problem ?? '')}</p>
<p id="console" hidden><a href="/">Open the console</a></p>
</main>
${form === undefined ? '' : `<noscript>${escapeHtml(form.without)}</noscript>\n<script>${form.script}</script>`}
</body>
</html>
`;
  return new RawReply('text/html; charset=utf-8', html, { headers: headersFor(form?.script) });
}

/** Allows only this script and style, and sends the token to no other origin. */
function headersFor(script: string | undefined): Readonly<Record<string, string>> {
  return {
    'Content-Security-Policy': [
      "default-src 'none'",
      ...(script === undefined ? [] : [`script-src '${hashOf(script)}'`]),
      `style-src '${hashOf(style)}'`,
      "connect-src 'self'",
      "base-uri 'none'",
      "form-action 'none'",
      "frame-ancestors 'none'",
    ].join('; '),
    'Referrer-Policy': 'no-referrer',
    'Cache-Control': 'no-store',
  };
}

function hashOf(text: string): string {
  return `sha256-${createHash('sha256').update(text).digest('base64')}`;
}
