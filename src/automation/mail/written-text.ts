/**
 * What the sender wrote, without what mail programs put below it: the mails before and the signature. Cut is only what
 * surely is no part of the message; where doubt is left, the text stays. Lines are looked at one by one, since the text
 * is a stranger's.
 */
export function writtenText(text: string): string {
  const lines = text.replaceAll('\r\n', '\n').split('\n');
  const kept = withoutQuoteAtEnd(lines.slice(0, endOfMessage(lines)));
  const written = kept.join('\n').trim();
  // Nothing but a quote: then that is what was sent.
  return written === '' ? text.trim() : written;
}

const divider =
  /^-{2,}\s?(?:original message|forwarded message|ursprüngliche nachricht|message d'origine)\s?-{2,}$/i;
const field = /^\*?(from|von|de|sent|gesendet|date|datum|to|an|subject|betreff)\s?:\*?\s/i;
/** Who said it, when, or that it was said. */
const says = /[@\d]|(?:wrote|schrieb|écrit|escribió|scritto|schreef)\s?:\s*$/i;
const attributionLinesMax = 3;
const lineCharsMax = 300;

/** At the signature, or where the mail before begins. A forwarded mail at the very top is the message. */
function endOfMessage(lines: readonly string[]): number {
  const first = lines.findIndex((line) => line.trim() !== '');
  const end = lines.findIndex(
    (line, at) =>
      at > first && (line === '-- ' || divider.test(line.trim().slice(0, 100)) || isHead(lines, at)),
  );
  return end === -1 ? lines.length : end;
}

/** Three lines or more like those of a mail's head, the first of them its sender. */
function isHead(lines: readonly string[], at: number): boolean {
  if (!/^\*?(?:from|von)\s?:/i.test(lines[at] ?? '')) return false;
  const next = lines.slice(at, at + 4).filter((line) => field.test(line));
  return next.length >= 3;
}

function withoutQuoteAtEnd(lines: readonly string[]): readonly string[] {
  let end = lines.length;
  while (end > 0 && isQuoteOrEmpty(lines[end - 1] ?? '')) end -= 1;
  const hasQuote = lines.slice(end).some((line) => line.startsWith('>'));
  return hasQuote ? lines.slice(0, end - attributionLines(lines, end)) : lines;
}

function isQuoteOrEmpty(line: string): boolean {
  return line.startsWith('>') || line.trim() === '';
}

/** `On Friday Ada <ada@example.com> wrote:`, which programs break into two or three lines. */
function attributionLines(lines: readonly string[], end: number): number {
  if (!(lines[end - 1] ?? '').trimEnd().endsWith(':')) return 0;
  for (let count = 1; count <= Math.min(attributionLinesMax, end); count += 1) {
    const text = lines
      .slice(end - count, end)
      .join(' ')
      .slice(0, lineCharsMax * attributionLinesMax);
    if (lines[end - count]?.trim() === '') return 0;
    if (/^\s*(?:on|am|le|el|il|op)\s/i.test(text) && says.test(text)) return count;
  }
  return 0;
}
