/**
 * The text that the sender wrote, without quoted mails and the signature that mail programs append. Only text that
 * certainly is not part of the message is cut. Lines are checked one by one, because the text is untrusted.
 */
export function writtenText(text: string): string {
  const lines = text.replaceAll('\r\n', '\n').split('\n');
  const kept = withoutQuoteAtEnd(lines.slice(0, endOfMessage(lines)));
  const written = kept.join('\n').trim();
  // The mail is only a quote: keep it.
  return written === '' ? text.trim() : written;
}

const divider =
  /^-{2,}\s?(?:original message|forwarded message|ursprüngliche nachricht|message d'origine)\s?-{2,}$/i;
const field = /^\*?(from|von|de|sent|gesendet|date|datum|to|an|subject|betreff)\s?:\*?\s/i;
/** Lines that introduce a quote. */
const says = /[@\d]|(?:wrote|schrieb|écrit|escribió|scritto|schreef)\s?:\s*$/i;
const attributionLinesMax = 3;
const lineCharsMax = 300;

/** The index of the signature, or of the start of the quoted mail. A forwarded mail at the very top is the message. */
function endOfMessage(lines: readonly string[]): number {
  const first = lines.findIndex((line) => line.trim() !== '');
  const end = lines.findIndex(
    (line, at) =>
      at > first && (line === '-- ' || divider.test(line.trim().slice(0, 100)) || isHead(lines, at)),
  );
  return end === -1 ? lines.length : end;
}

/** Three or more lines like a mail header, the first of them the sender. */
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

/** `On Friday Ada <ada@example.com> wrote:`, which mail programs break into two or three lines. */
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
