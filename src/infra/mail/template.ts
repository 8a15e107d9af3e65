/** The content of a mail of the platform. Plain text and HTML are made of the same parts. */
export interface MailParts {
  readonly subject: string;
  readonly opening: string;
  /** Names and values, each on a line of its own. */
  readonly facts: readonly (readonly [name: string, value: string])[];
  readonly action: { readonly label: string; readonly link: string };
  readonly closing: readonly string[];
}

/**
 * Renders a mail as plain text and as HTML. Names and link stand on lines of their own: the mail encoding would break
 * longer lines. The HTML loads nothing, so that opening the mail tells nobody.
 */
export function renderMail({ subject, opening, facts, action, closing }: MailParts): {
  readonly subject: string;
  readonly text: string;
  readonly html: string;
} {
  const text = [
    opening,
    '',
    ...facts.map(([name, value]) => `${name}: ${value}`),
    ...(facts.length > 0 ? [''] : []),
    `${action.label}:`,
    '',
    action.link,
    '',
    ...closing,
    '',
  ].join('\n');
  const link = escapeHtml(action.link);
  const html = [
    '<!doctype html>',
    '<html lang="en">',
    `<head><meta charset="utf-8"><title>${escapeHtml(subject)}</title></head>`,
    '<body style="font: 16px/1.5 sans-serif; color: #1c2430">',
    `<p>${escapeHtml(opening)}</p>`,
    ...(facts.length > 0 ? ['<table>'] : []),
    ...facts.map(
      ([name, value]) => `<tr><th align="left">${escapeHtml(name)}</th>\n<td>${escapeHtml(value)}</td></tr>`,
    ),
    ...(facts.length > 0 ? ['</table>'] : []),
    `<p>${escapeHtml(action.label)}:</p>`,
    `<p><a href="${link}">`,
    `${link}</a></p>`,
    ...closing.map((line) => `<p>${escapeHtml(line)}</p>`),
    '</body>',
    '</html>',
    '',
  ].join('\n');
  return { subject, text, html };
}

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

export function escapeHtml(text: string): string {
  return text.replaceAll(/[&<>"']/g, (character) => entities[character] ?? character);
}
